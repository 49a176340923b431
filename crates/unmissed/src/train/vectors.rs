//! Sums and products of vectors of lines.

use super::lines::Line;

/// The dot product of each lane, summed in double precision every so many lines.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn dot<const W: usize>(a: &[Line<W>], b: &[Line<W>]) -> [f64; W] {
    const LINES: usize = 64;
    let mut sums = [0.0; W];
    for (a, b) in a.chunks(LINES).zip(b.chunks(LINES)) {
        let mut some = [0.0f32; W];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..W {
                some[lane] += a[lane] * b[lane];
            }
        }
        for lane in 0..W {
            sums[lane] += f64::from(some[lane]);
        }
    }
    sums
}

/// `lines <- keep lines + factor others`, by lane.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn scaled_sum<const W: usize>(lines: &mut [Line<W>], keep: &Line<W>, factor: &Line<W>, others: &[Line<W>]) {
    for (line, other) in lines.iter_mut().zip(others) {
        for lane in 0..W {
            line[lane] = keep[lane] * line[lane] + factor[lane] * other[lane];
        }
    }
}
