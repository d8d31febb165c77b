//! Chance that can be repeated, and bytes that are broken by it. It must not know what the bytes are.

fn setting(name: &str) -> Option<u64> {
    let (_, value) = std::env::vars().find(|(variable, _)| *variable == format!("ANTIPHON_FUZZ_{name}"))?;
    Some(value.parse().unwrap_or_else(|_| panic!("ANTIPHON_FUZZ_{name} is a number")))
}

pub(super) fn rounds() -> u64 {
    setting("ROUNDS").unwrap_or(60)
}

/// Chance that can be repeated.
pub(super) struct Dice(u64);

impl Dice {
    #[expect(clippy::print_stdout, reason = "a run that failed can be repeated")]
    pub(super) fn new(what: &str) -> Self {
        let seed = setting("SEED").unwrap_or_else(|| u64::from(std::process::id()));
        println!("{what}: ANTIPHON_FUZZ_SEED={seed}");
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (sides.max(1) as u64)).unwrap()
    }

    /// Whether something happens that does so once in so many times.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.roll(times) == 0
    }

    /// One of several.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }

    /// One to four changes, each at random: a bit, a byte, a piece that goes, comes twice or moves, a number at its limit, nesting, an end.
    pub(super) fn broken(&mut self, right: &[u8]) -> Vec<u8> {
        const WORDS: [&[u8]; 12] = [
            b"null",
            b"-1",
            b"99999999999999999999",
            b"1e999",
            b"\"\"",
            b"{}",
            b"[]",
            b"\xff\xfe",
            b"\0",
            b"\xed\xa0\x80",
            b"[[[[[[[[[[[[[[[[",
            b"\r\n\r\n",
        ];
        let mut bytes = right.to_vec();
        for _ in 0..=self.roll(4) {
            let (at, length) = (self.roll(bytes.len()), self.roll(24));
            let end = (at + length).min(bytes.len());
            match self.roll(8) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.roll(8),
                1 if !bytes.is_empty() => bytes[at] = u8::try_from(self.roll(256)).unwrap(),
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                4 => {
                    let piece: Vec<u8> = bytes.drain(at..end).collect();
                    let to = self.roll(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
                5 => {
                    let word = WORDS[self.roll(WORDS.len())];
                    bytes.splice(at..end, word.iter().copied());
                }
                6 => bytes.truncate(at),
                _ => {
                    let word = WORDS[self.roll(WORDS.len())].repeat(self.roll(200) + 1);
                    bytes.splice(at..at, word);
                }
            }
        }
        bytes
    }
}
