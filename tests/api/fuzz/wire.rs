//! Messages of protobuf that are changed field by field, without knowing what they are: a field goes, comes twice, moves, has another number or a
//! value that nobody expects. It must not know any one message.

use super::dice::Dice;

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(u64),
    Eight([u8; 8]),
    Bytes(Vec<u8>),
    Message(Vec<Field>),
    Four([u8; 4]),
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    number: u64,
    value: Value,
}

const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    127,
    128,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    1 << 63,
    (1 << 63) - 1,
    u64::MAX,
    253_402_300_800, // the first second of the year 10000
];

const TEXTS: [&[u8]; 14] = [
    b"",
    b" ",
    b"\0",
    b"\xff\xfe\xfd",
    b"\xed\xa0\x80",
    b"t",
    b"r",
    b"../../etc/passwd",
    b"00000000-0000-0000-0000-000000000000",
    b"{\"a\":[1,2,{\"b\":null}]}",
    b"1e999",
    "\u{202e}\u{1f468}\u{200d}\u{1f469}\u{0301}".as_bytes(),
    b"{{ 7 * 7 }}{% for x in y %}",
    b"^(a+)+$",
];

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 127).checked_shl(shift)?;
        if first & 128 == 0 {
            return Some(value);
        }
    }
    None
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 128 {
        out.push(u8::try_from(value & 127).unwrap() | 128);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap());
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

/// The fields of a message, if it can be one.
fn parsed(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut bytes)?),
            1 => Value::Eight(take(&mut bytes)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (content, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                match parsed(content) {
                    Some(fields) if !fields.is_empty() => Value::Message(fields),
                    _ => Value::Bytes(content.to_vec()),
                }
            }
            5 => Value::Four(take(&mut bytes)?),
            _ => return None,
        };
        if tag >> 3 == 0 || tag >> 3 > 200 {
            return None;
        }
        fields.push(Field { number: tag >> 3, value });
    }
    Some(fields)
}

fn bytes_of(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for Field { number, value } in fields {
        let kind = match value {
            Value::Number(_) => 0,
            Value::Eight(_) => 1,
            Value::Bytes(_) | Value::Message(_) => 2,
            Value::Four(_) => 5,
        };
        put_varint(number << 3 | kind, &mut out);
        match value {
            Value::Number(number) => put_varint(*number, &mut out),
            Value::Eight(bytes) => out.extend(bytes),
            Value::Four(bytes) => out.extend(bytes),
            Value::Bytes(bytes) => {
                put_varint(bytes.len() as u64, &mut out);
                out.extend(bytes);
            }
            Value::Message(fields) => {
                let bytes = bytes_of(fields);
                put_varint(bytes.len() as u64, &mut out);
                out.extend(bytes);
            }
        }
    }
    out
}

fn change_value(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Number(number) => {
            *number = match dice.roll(3) {
                0 => number.wrapping_add(1),
                1 => number.wrapping_sub(1),
                _ => *dice.one(&NUMBERS),
            };
        }
        Value::Eight(bytes) => *bytes = dice.one(&NUMBERS).to_be_bytes(),
        Value::Four(bytes) => *bytes = u32::MAX.to_be_bytes(),
        Value::Bytes(bytes) => match dice.roll(5) {
            0 => *bytes = dice.one(&TEXTS).to_vec(),
            1 => *bytes = dice.broken(bytes),
            2 => *bytes = bytes.repeat(2 + dice.roll(300)),
            3 => bytes.truncate(bytes.len() / 2),
            _ => {
                let at = dice.roll(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = byte.wrapping_add(1);
                }
            }
        },
        Value::Message(fields) => change(dice, fields),
    }
}

fn change(dice: &mut Dice, fields: &mut Vec<Field>) {
    if fields.is_empty() {
        fields.push(Field { number: 1 + dice.roll(12) as u64, value: Value::Number(*dice.one(&NUMBERS)) });
        return;
    }
    let at = dice.roll(fields.len());
    match dice.roll(12) {
        0 => drop(fields.remove(at)),
        1 => {
            let again = vec![fields[at].clone(); 1 + dice.roll(40)];
            fields.splice(at..at, again);
        }
        2 => fields[at].number = 1 + dice.roll(30) as u64,
        3 => {
            let to = dice.roll(fields.len());
            let other = fields[to].value.clone();
            fields[at].value = other;
        }
        4 => {
            // In itself, so often.
            let mut nested = fields[at].clone();
            for _ in 0..dice.roll(200) {
                nested = Field { number: nested.number, value: Value::Message(vec![nested]) };
            }
            fields[at] = nested;
        }
        5 => fields[at].value = Value::Bytes(dice.one(&TEXTS).to_vec()),
        6 => fields[at].value = Value::Number(*dice.one(&NUMBERS)),
        7 => fields[at].value = Value::Message(Vec::new()),
        _ => change_value(dice, &mut fields[at].value),
    }
}

/// A message that was right, with one to three changes of its fields; broken as bytes where it is no message.
pub(super) fn changed(dice: &mut Dice, right: &[u8]) -> Vec<u8> {
    let Some(mut fields) = parsed(right) else {
        return dice.broken(right);
    };
    for _ in 0..=dice.roll(3) {
        change(dice, &mut fields);
    }
    bytes_of(&fields)
}

#[test]
fn what_is_taken_apart_goes_together_again() {
    let nested = vec![Field { number: 2, value: Value::Bytes(b"text".to_vec()) }];
    let fields = vec![
        Field { number: 1, value: Value::Number(u64::MAX) },
        Field { number: 15, value: Value::Message(nested) },
        Field { number: 16, value: Value::Four([1, 2, 3, 4]) },
        Field { number: 3, value: Value::Eight([9; 8]) },
    ];
    assert_eq!(parsed(&bytes_of(&fields)), Some(fields));
}
