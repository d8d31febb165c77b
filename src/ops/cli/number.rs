//! Whole numbers as they are typed. It must not know what they are for.

use std::fmt::Display;
use std::str::FromStr;

/// Takes whole numbers from `least` to `most`; of any other it tells both.
pub(crate) fn between<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse::<T>().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("must be a whole number from {least} to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_no_number_in_between_is_told_the_ends() {
        let parse = between(2_u64, 9_223_372_036_854_775_807);
        assert_eq!((parse("2"), parse("9223372036854775807")), (Ok(2), Ok(9_223_372_036_854_775_807)));
        for wrong in ["1", "9223372036854775808", "99999999999999999999999", "-5", "1.5", "many", ""] {
            assert_eq!(parse(wrong).unwrap_err(), "must be a whole number from 2 to 9223372036854775807", "{wrong}");
        }
    }
}
