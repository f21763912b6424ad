//! Durations as people write them: a number of seconds, or a number with its unit.

use std::time::Duration;

/// Reads `30`, `1.5`, `500ms`, `2s`, `1m` or `1h`. A bare number is seconds.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(trunkline::parse_duration("500ms"), Ok(Duration::from_millis(500)));
/// assert!(trunkline::parse_duration("soon").is_err());
/// ```
///
/// # Errors
/// What is wrong with it, as a sentence.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = trimmed.split_at(digits);
    let seconds = match unit.trim_start() {
        "ms" => 0.001,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let shown: String = text.chars().take(40).collect();
    let number: f64 = number.parse().unwrap_or(f64::NAN);
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(duration) if duration.is_zero() => Err(format!("{shown:?} is no time to wait at all")),
        Ok(duration) => Ok(duration),
        Err(_) => Err(format!("{shown:?} is no duration; write seconds such as 30, or \"500ms\", \"2s\", \"1m\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        for (text, millis) in [
            ("30", 30_000),
            ("1.5", 1500),
            ("0.25", 250),
            ("500ms", 500),
            ("2s", 2000),
            ("1m", 60_000),
            ("1.5 min", 90_000),
            ("1h", 3_600_000),
            (" 2 s ", 2000),
            ("1.", 1000),
            (".5", 500),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["", "s", "-1", "1x", "1 2", "NaN", "inf", "1e3", "0", "0ms", "1..2", "é", "999999999999999999999h"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in ".*", number in "[0-9.]{0,40}[a-z]{0,3}") {
            let _ = parse_duration(&text);
            let _ = parse_duration(&number);
        }
    }
}
