//! Sums and products of vectors of lines.

use super::lines::Line;

/// The dot product of each column, summed in double precision every so many lines.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn dot<const W: usize>(a: &[Line<W>], b: &[Line<W>]) -> [f64; W] {
    const LINES: usize = 64;
    let mut sums = [0.0; W];
    for (a, b) in a.chunks(LINES).zip(b.chunks(LINES)) {
        let mut some = [0.0f32; W];
        for (a, b) in a.iter().zip(b) {
            for column in 0..W {
                some[column] += a[column] * b[column];
            }
        }
        for column in 0..W {
            sums[column] += f64::from(some[column]);
        }
    }
    sums
}

/// `lines <- keep lines + factor others`, by column.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn scaled_sum<const W: usize>(lines: &mut [Line<W>], keep: &Line<W>, factor: &Line<W>, others: &[Line<W>]) {
    for (line, other) in lines.iter_mut().zip(others) {
        for column in 0..W {
            line[column] = keep[column] * line[column] + factor[column] * other[column];
        }
    }
}
