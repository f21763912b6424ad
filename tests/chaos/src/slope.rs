//! A straight line through points: how fast something grows, and how sure that is.

/// The slope of the line of least squares, and the standard error of that slope.
pub(crate) fn slope(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let slope = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let off: f64 = points.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    (slope, (off / (count - 2.0) / spread).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_noise_makes_it_unsure() {
        let points = |noise: f64| -> Vec<_> {
            (0..100).map(|x| (f64::from(x), 7.0 + 3.0 * f64::from(x) + noise * f64::from(x % 2))).collect()
        };
        let (exact, error) = slope(&points(0.0));
        assert!((exact - 3.0).abs() < 1e-9 && error < 1e-9, "{exact} ± {error}");
        let (rough, error) = slope(&points(50.0));
        assert!((rough - 3.0).abs() < 3.0 * error && error > 0.05, "{rough} ± {error}");
    }
}
