//! NumPy's times, which count multiples of a unit since 1970.

/// A unit of time of NumPy, or no unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub name: String,
    /// The number of units in one step.
    pub count: u64,
}

impl Unit {
    /// Parses `[25us]`. An empty text is a time without a unit.
    pub fn parse(text: &str) -> Option<Self> {
        let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
            return text.is_empty().then(|| Self { name: String::new(), count: 1 });
        };
        let name = inner.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = inner.strip_suffix(name)?;
        let count: u32 = if digits.is_empty() { 1 } else { digits.parse().ok()? };
        let is_known = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"].contains(&name);
        is_known.then(|| Self { name: name.into(), count: count.into() })
    }

    /// Converts a number of steps to a number of units; `None` for "not a time".
    fn units(&self, steps: i64) -> Option<i128> {
        (steps != i64::MIN).then(|| i128::from(steps) * i128::from(self.count))
    }

    /// Formats a duration: a number and the unit.
    pub fn duration(&self, steps: i64) -> String {
        self.units(steps).map_or("NaT".into(), |units| format!("{units}{}", self.name))
    }

    /// Formats a point in time in ISO 8601, as precisely as the unit; without a unit, as a number.
    pub fn point(&self, steps: i64) -> String {
        let Some(units) = self.units(steps) else { return "NaT".into() };
        match self.name.as_str() {
            "" => units.to_string(),
            "Y" => format!("{:04}", 1970 + units),
            "M" => format!("{:04}-{:02}", 1970 + units.div_euclid(12), units.rem_euclid(12) + 1),
            "W" => date(units * 7),
            "D" => date(units),
            "h" => format!("{}T{:02}", date(units.div_euclid(24)), units.rem_euclid(24)),
            "m" => {
                let minute = units.rem_euclid(1440);
                format!("{}T{:02}:{:02}", date(units.div_euclid(1440)), minute / 60, minute % 60)
            }
            name => {
                let digits =
                    3 * ["s", "ms", "us", "ns", "ps", "fs", "as"].iter().position(|n| *n == name).unwrap_or(0);
                let of_second = 10_i128.pow(digits as u32);
                let (seconds, rest) = (units.div_euclid(of_second), units.rem_euclid(of_second));
                let second = seconds.rem_euclid(86_400);
                let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
                let fraction = if digits > 0 { format!(".{rest:0digits$}") } else { String::new() };
                format!("{}T{clock}{fraction}", date(seconds.div_euclid(86_400)))
            }
        }
    }
}

/// Converts days since 1970-01-01 to a date of the proleptic Gregorian calendar.
fn date(days: i128) -> String {
    // Years begin in March, so that the leap day is their last day. 400 years have 146 097 days.
    let day = days + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + i128::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `str(np.datetime64(steps, unit))`.
    #[test]
    fn points_are_those_of_numpy() {
        let all = [
            ("Y", 54, "2024"),
            ("Y", -1971, "-001"),
            ("M", 649, "2024-02"),
            ("M", -1, "1969-12"),
            ("W", 2825, "2024-02-22"),
            ("D", 0, "1970-01-01"),
            ("D", 19_782, "2024-02-29"),
            ("D", 19_783, "2024-03-01"),
            ("D", -1, "1969-12-31"),
            ("D", -719_529, "-001-12-31"),
            ("D", -719_468, "0000-03-01"),
            ("D", 2_932_896, "9999-12-31"),
            ("D", 11_016, "2000-02-29"),
            ("D", -25_509, "1900-02-28"),
            ("D", -25_508, "1900-03-01"),
            ("h", 25, "1970-01-02T01"),
            ("m", 61, "1970-01-01T01:01"),
            ("s", -1, "1969-12-31T23:59:59"),
            ("s", 1_709_210_096, "2024-02-29T12:34:56"),
            ("25s", 3, "1970-01-01T00:01:15"),
            ("ms", 1, "1970-01-01T00:00:00.001"),
            ("us", -1, "1969-12-31T23:59:59.999999"),
            ("ns", 1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456789"),
            ("as", 1, "1970-01-01T00:00:00.000000000000000001"),
            ("s", i64::MIN, "NaT"),
        ];
        for (unit, steps, expected) in all {
            assert_eq!(Unit::parse(&format!("[{unit}]")).unwrap().point(steps), expected, "{unit} {steps}");
        }
        assert_eq!(Unit::parse("").unwrap().point(5), "5");
        assert_eq!(Unit::parse("[s").or(Unit::parse("[x]")).or(Unit::parse("[s]x")), None);
        // Extreme values.
        assert!(Unit::parse("[4294967295Y]").unwrap().point(i64::MAX).len() > 28);
        assert!(Unit::parse("[4294967295W]").unwrap().point(i64::MIN + 1).starts_with('-'));
        assert_eq!(Unit::parse("[4294967296s]"), None); // more than the 31 bits of NumPy
    }

    #[test]
    fn durations_have_their_unit() {
        let of = |unit: &str, steps| Unit::parse(unit).unwrap().duration(steps);
        assert_eq!(
            [of("[D]", -3), of("[25s]", 3), of("", 7), of("[ns]", i64::MIN), of("[us]", i64::MAX)],
            ["-3D", "75s", "7", "NaT", "9223372036854775807us"]
        );
    }
}
