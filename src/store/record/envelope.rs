//! The envelope around every stored value: which format it has, whether it is compressed, and whether it is what was written. It must not
//! know what is inside.
//!
//! ```text
//!  0        1       2                    18
//!  format   flags   checksum             payload
//! ```
//!
//! The checksum is the first 16 bytes of BLAKE3 over the key's length and bytes, format, flags and payload: a value under another key is
//! as wrong as a flipped bit. A compressed payload begins with its plain length in 4 bytes.

use std::cell::RefCell;

use bytes::Bytes;

/// The format that this server writes. Raised when a record means something else than before, which a new optional field does not.
pub(crate) const FORMAT: u8 = 1;

const COMPRESSED: u8 = 1;
const CHECKSUM: usize = 16;
const HEADER: usize = 2 + CHECKSUM;
const LENGTH: usize = 4;
/// Below this, a saving cannot pay for the work.
const WORTH_TRYING: usize = 512;
/// Measured on English text of 2 KiB: 58 % of it is left after 17 µs; level 3 takes 24 µs to leave as much, level -1 leaves 85 %.
const LEVEL: i32 = 1;
/// Payloads up to this length are looked at before they are tried.
const LOOKED_AT: usize = 16 * 1024;

/// Why bytes are not a value in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("it is shorter than its header")]
    Short,
    #[error("it has format {found}, and this server reads formats up to {FORMAT}: start the version that wrote it")]
    Newer { found: u8 },
    #[error("it has format 0, which never was")]
    NoFormat,
    #[error("its checksum does not match")]
    Checksum,
    #[error("it has flags that its format does not")]
    Flags,
    #[error("it cannot be decompressed")]
    Compression,
}

/// A payload, compressed when that pays; ready to be put under any key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    flags: u8,
    body: Bytes,
}

impl Packed {
    /// Compresses if at least a quarter is saved: what is written once is read with every turn that follows, and decompressing was a fifth of
    /// the time that it takes to read a history.
    pub(crate) fn new(payload: Bytes) -> Self {
        match compressed(&payload) {
            Some(body) => Self { flags: COMPRESSED, body },
            None => Self { flags: 0, body: payload },
        }
    }

    /// The value to put under a key.
    pub(crate) fn seal(&self, key: &[u8]) -> Bytes {
        let mut value = Vec::with_capacity(HEADER + self.body.len());
        value.extend_from_slice(&[FORMAT, self.flags]);
        value.extend_from_slice(&checksum(key, [FORMAT, self.flags], &self.body));
        value.extend_from_slice(&self.body);
        value.into()
    }
}

/// The payload of the value of a key.
pub(crate) fn open(key: &[u8], value: &Bytes) -> Result<Bytes, Broken> {
    let (&[format, flags], rest) = value.split_first_chunk::<2>().ok_or(Broken::Short)?;
    match format {
        0 => return Err(Broken::NoFormat),
        FORMAT => {}
        found => return Err(Broken::Newer { found }),
    }
    let (found, body) = rest.split_first_chunk::<CHECKSUM>().ok_or(Broken::Short)?;
    if *found != checksum(key, [format, flags], body) {
        return Err(Broken::Checksum);
    }
    match flags {
        0 => Ok(value.slice(HEADER..)),
        COMPRESSED => {
            let (length, frame) = body.split_first_chunk::<LENGTH>().ok_or(Broken::Short)?;
            let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Broken::Compression)?;
            let payload = decompressed(frame, length).ok_or(Broken::Compression)?;
            if payload.len() == length { Ok(payload.into()) } else { Err(Broken::Compression) }
        }
        _ => Err(Broken::Flags),
    }
}

fn checksum(key: &[u8], header: [u8; 2], body: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(key.len() as u64).to_be_bytes());
    hasher.update(key);
    hasher.update(&header);
    hasher.update(body);
    let mut checksum = [0; CHECKSUM];
    hasher.finalize_xof().fill(&mut checksum);
    checksum
}

thread_local! {
    /// Making one costs about 4 µs, as much as a short text does.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn compressed(payload: &[u8]) -> Option<Bytes> {
    if payload.len() < WORTH_TRYING || is_noise(payload) {
        return None;
    }
    let length = u32::try_from(payload.len()).ok()?;
    let frame = COMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = zstd::bulk::Compressor::new(LEVEL).ok();
        }
        // A value that cannot be compressed is stored as it is: nothing is lost but room.
        slot.as_mut()?.compress(payload).ok()
    })?;
    if frame.len() + LENGTH > payload.len() - payload.len() / 4 {
        return None;
    }
    let mut body = Vec::with_capacity(LENGTH + frame.len());
    body.extend_from_slice(&length.to_be_bytes());
    body.extend_from_slice(&frame);
    Some(body.into())
}

/// Whether bytes are spread so evenly that trying costs more than it can save: encrypted, compressed or in Base64. Two bytes taken at random
/// are equal with a chance of 1/256 in noise, 1/64 in Base64, 1/16 in hexadecimal digits and about 1/15 in text.
fn is_noise(payload: &[u8]) -> bool {
    if payload.len() > LOOKED_AT {
        return false;
    }
    let mut counts = [0u32; 256];
    for byte in payload {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let equal: u64 = counts.iter().map(|count| u64::from(*count) * u64::from(*count)).sum();
    equal * 40 < (payload.len() as u64) * (payload.len() as u64)
}

fn decompressed(frame: &[u8], length: usize) -> Option<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = zstd::bulk::Decompressor::new().ok();
        }
        slot.as_mut()?.decompress(frame, length).ok()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out(key: Vec<u8>, seed: Vec<u8>, times in 1usize..200) {
            let payload = Bytes::from(seed.repeat(times));
            let value = Packed::new(payload.clone()).seal(&key);
            prop_assert_eq!(open(&key, &value), Ok(payload));
        }

        /// Every single flipped bit is seen, whatever it hits.
        #[test]
        fn a_flipped_bit_is_seen(payload in proptest::collection::vec(any::<u8>(), 0..900), at: prop::sample::Index, bit in 0u8..8) {
            let value = Packed::new(payload.into()).seal(b"key");
            let mut damaged = value.to_vec();
            damaged[at.index(value.len())] ^= 1 << bit;
            prop_assert!(open(b"key", &damaged.into()).is_err());
        }

        #[test]
        fn any_bytes_are_refused_in_peace(bytes: Vec<u8>) {
            prop_assert!(open(b"key", &bytes.into()).is_err());
        }
    }

    #[test]
    fn text_is_compressed_and_noise_is_not() {
        let text = Bytes::from("What is the capital of France? ".repeat(40));
        assert!(Packed::new(text.clone()).body.len() < text.len() / 4);
        let mut noise = vec![0; 4096];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        assert_eq!(Packed::new(noise.clone().into()).flags, 0);
        // Hexadecimal digits halve; letters, digits and two signs at random hardly lose a quarter.
        let digits: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(Packed::new(digits.clone().into()).body.len() < digits.len() * 3 / 5);
        let letters: Vec<u8> = noise.iter().map(|byte| b' ' + byte % 64).collect();
        assert_eq!(Packed::new(letters.into()).flags, 0);
    }

    #[test]
    fn only_what_is_spread_evenly_is_noise() {
        let mut noise = vec![0; 2048];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        let letters: Vec<u8> = noise.iter().map(|byte| b' ' + byte % 64).collect();
        assert!(is_noise(&noise) && is_noise(&letters));
        let text =
            "The quick brown fox jumps over the lazy dog, and what is written once is read many times. ".repeat(12);
        let json = r#"{"id":"0198f2","at":"2025-11-30T00:41:46Z","tags":["a","b"],"n":[1,2,3]}"#.repeat(14);
        let chinese = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏".repeat(14);
        assert!(!is_noise(text.as_bytes()) && !is_noise(json.as_bytes()) && !is_noise(chinese.as_bytes()));
    }

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(Packed::new("a".repeat(511).into()).flags, 0);
        assert_eq!(Packed::new("a".repeat(512).into()).flags, COMPRESSED);
    }

    #[test]
    fn a_value_belongs_to_its_key() {
        let value = Packed::new("x".into()).seal(b"one");
        assert_eq!(open(b"other", &value), Err(Broken::Checksum));
    }

    #[test]
    fn a_cut_value_and_an_unknown_flag_are_told_apart() {
        let value = Packed::new("x".into()).seal(b"k");
        assert_eq!(open(b"k", &value.slice(..10)), Err(Broken::Short));
        let odd = Packed { flags: 2, body: "x".into() }.seal(b"k");
        assert_eq!(open(b"k", &odd), Err(Broken::Flags));
        let torn = Packed { flags: COMPRESSED, body: "\0\0\0\x04nope".into() }.seal(b"k");
        assert_eq!(open(b"k", &torn), Err(Broken::Compression));
    }

    #[test]
    fn a_newer_format_is_named_with_both_numbers() {
        let mut value = Packed::new("x".into()).seal(b"k").to_vec();
        value[0] = 9;
        let broken = open(b"k", &value.into()).unwrap_err();
        assert!(broken.to_string().contains("format 9") && broken.to_string().contains("up to 1"), "{broken}");
    }
}
