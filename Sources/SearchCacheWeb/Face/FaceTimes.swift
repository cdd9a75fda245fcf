#if Web
    internal import Foundation
    internal import Lockstep
    internal import Synchronization

    /// Times as HTTP and JSON write them; all of them in UTC.
    enum FaceTimes {
        /// This host's clock; log time is that of the primary's host.
        static func now() -> LogTime { LogTime(rawValue: Int64(Date().timeIntervalSince1970 * 1_000_000)) }

        /// RFC 3339 with milliseconds: `2026-11-21T08:49:37.250Z`.
        ///
        /// Its years have four digits, so what is before 1970 or after 9999 is shown as the nearest such time.
        static func rfc3339(_ time: LogTime) -> String {
            let milliseconds = min(max(0, time.rawValue / 1_000), lastMillisecond)
            let parts = Parts(seconds: milliseconds / 1_000)
            return "\(pad(parts.year, 4))-\(pad(parts.month))-\(pad(parts.day))T\(parts.clock)"
                + ".\(pad(milliseconds % 1_000, 3))Z"
        }

        /// RFC 9110's IMF-fixdate: `Sat, 21 Nov 2026 08:49:37 GMT`.
        static func httpDate(seconds: Int64) -> String {
            let parts = Parts(seconds: min(max(0, seconds), lastMillisecond / 1_000))
            return "\(weekdays[Int(parts.weekday)]), \(pad(parts.day)) \(months[Int(parts.month) - 1]) "
                + "\(pad(parts.year, 4)) \(parts.clock) GMT"
        }

        private static let lastMillisecond: Int64 = 253_402_300_799_999
        private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        private static func pad(_ value: Int64, _ width: Int = 2) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }

        /// A second since 1970, taken apart in the proleptic Gregorian calendar.
        private struct Parts {
            var year: Int64
            var month: Int64
            var day: Int64
            /// From Sunday, 0.
            var weekday: Int64
            var clock: String

            init(seconds: Int64) {
                let days = seconds / 86_400
                let rest = seconds % 86_400
                // Counted from 1 March of the year 0, so that a leap day is the last of its year, in eras of 400 years.
                let shifted = days + 719_468
                let dayOfEra = shifted % 146_097
                let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
                let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
                let monthFromMarch = (5 * dayOfYear + 2) / 153
                day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
                month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
                year = shifted / 146_097 * 400 + yearOfEra + (month <= 2 ? 1 : 0)
                weekday = (days + 4) % 7
                clock = "\(pad(rest / 3_600)):\(pad(rest / 60 % 60)):\(pad(rest % 60))"
            }
        }
    }

    /// The value of the header `Date`, made once a second.
    final class DateHeader: Sendable {
        private let last = Mutex((second: Int64(-1), text: ""))

        func text(at time: LogTime) -> String {
            let second = time.rawValue / 1_000_000
            return last.withLock { last in
                if last.second != second { last = (second, FaceTimes.httpDate(seconds: second)) }
                return last.text
            }
        }
    }
#endif
