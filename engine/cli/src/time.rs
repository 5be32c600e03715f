//! Times: RFC 3339 for programs, ages for people.

use jiff::{Timestamp, tz::TimeZone};

const SECOND_MS: i64 = 1000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
const WEEK_MS: i64 = 7 * DAY_MS;

/// Ages above this are shown as dates.
const AGE_MS_MAX: i64 = 60 * DAY_MS;

/// Milliseconds since 1970, now.
pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

fn timestamp(ms: i64) -> Timestamp {
    // A time outside of years -9999 to 9999 can only come from a broken clock; any value shows that.
    Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// The time in UTC, to the millisecond.
pub(crate) fn rfc3339(ms: i64) -> String {
    timestamp(ms).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The time on the reader's clock, to the minute.
pub(crate) fn local(ms: i64) -> String {
    timestamp(ms).to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// How long ago a time was. What it says can be used as the name of a point.
pub(crate) fn age(now_ms: i64, then_ms: i64) -> String {
    let age = now_ms.saturating_sub(then_ms);
    if !(-MINUTE_MS..AGE_MS_MAX).contains(&age) {
        return local(then_ms);
    }
    // A few seconds in the future are the clocks of two machines, or a file system's.
    let age = age.max(0);
    let (unit, name) = match age {
        _ if age < MINUTE_MS => (SECOND_MS, "s"),
        _ if age < HOUR_MS => (MINUTE_MS, "m"),
        _ if age < DAY_MS => (HOUR_MS, "h"),
        _ => (DAY_MS, "d"),
    };
    format!("{}{name} ago", age / unit)
}

/// Parses "2h ago", "10 minutes ago"; milliseconds.
pub(crate) fn parse_age(text: &str) -> Option<i64> {
    let span = text.trim().strip_suffix("ago")?;
    let span = span.strip_suffix([' ', '-', '.'])?.trim_end();
    let digits = span.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = span.split_at(digits);
    let unit = match unit.trim_start_matches([' ', '-', '.']) {
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND_MS,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE_MS,
        "h" | "hour" | "hours" => HOUR_MS,
        "d" | "day" | "days" => DAY_MS,
        "w" | "week" | "weeks" => WEEK_MS,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_programs_are_rfc_3339() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_796_083_200_007), "2026-12-01T00:00:00.007Z");
        assert!(rfc3339(i64::MAX).starts_with("9999-"));
    }

    #[test]
    fn ages_are_short_and_name_points() {
        for (age_ms, text) in [
            (0, "0s ago"),
            (-500, "0s ago"),
            (59_999, "59s ago"),
            (60_000, "1m ago"),
            (HOUR_MS * 3 + 1, "3h ago"),
            (DAY_MS * 40, "40d ago"),
        ] {
            let now = 1_800_000_000_000;
            assert_eq!(age(now, now - age_ms), text);
            assert!(parse_age(text).is_some());
        }
        assert!(!age(DAY_MS * 400, 0).ends_with("ago"));
        assert!(!age(0, DAY_MS).ends_with("ago"));
    }

    #[test]
    fn ages_are_parsed_in_the_spellings_people_use() {
        for text in ["2h ago", "2 hours ago", "2.hours.ago", "2h-ago"] {
            assert_eq!(parse_age(text), Some(2 * HOUR_MS), "{text}");
        }
        assert_eq!(parse_age("1w ago"), Some(WEEK_MS));
        for text in ["2h", "ago", "h ago", "2 fortnights ago", "-2h ago", "99999999999999999999s ago", "2hago"] {
            assert_eq!(parse_age(text), None, "{text}");
        }
    }
}
