//! Copies within the output of a codec.
#![forbid(unsafe_code)]

/// The number of bytes that are copied at once, even if fewer are needed, if the destination is long enough.
pub(super) const WIDE: usize = 16;
/// Runs of one byte that are longer than this are worth a call.
const LONG_RUN: usize = 128;

/// Copies as many bytes as both slices have.
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    let count = to.len().min(from.len());
    if let (Some(to), Some(from)) = (to.get_mut(..count), from.get(..count)) {
        to.copy_from_slice(from);
    }
}

/// Appends `length` bytes to the `written` bytes of `dst`, copied from `distance` bytes back. The copy may overlap its
/// source, and may overwrite bytes after its end.
#[inline(always)]
pub(super) fn repeat(dst: &mut [u8], mut written: usize, mut distance: usize, length: usize) {
    let end = written.saturating_add(length);
    let mut from = written.saturating_sub(distance);
    // Chips copy bytes one by one in any case, and need the stack more.
    let is_wide = cfg!(not(small));
    if distance == 1 {
        let value = dst.get(from).copied().unwrap_or_default();
        if length > LONG_RUN || !is_wide {
            dst.get_mut(written..end).unwrap_or_default().fill(value);
            return;
        }
        while written < end {
            let Some(to) = dst.get_mut(written..).and_then(<[u8]>::first_chunk_mut::<WIDE>) else { break };
            *to = [value; WIDE];
            written = written.wrapping_add(WIDE);
        }
    }
    if distance >= 2 * WIDE && is_wide {
        while written < end {
            let Some(&wide) = dst.get(from..).and_then(<[u8]>::first_chunk::<{ 2 * WIDE }>) else { break };
            let Some(to) = dst.get_mut(written..).and_then(<[u8]>::first_chunk_mut::<{ 2 * WIDE }>) else { break };
            *to = wide;
            written = written.wrapping_add(2 * WIDE);
            from = from.wrapping_add(2 * WIDE);
        }
    }
    while written < end && is_wide {
        let Some(&wide) = dst.get(from..).and_then(<[u8]>::first_chunk::<WIDE>) else { break };
        let Some(to) = dst.get_mut(written..).and_then(<[u8]>::first_chunk_mut::<WIDE>) else { break };
        *to = wide;
        let step = distance.min(WIDE);
        written = written.wrapping_add(step);
        if distance < WIDE {
            // The output repeats with a period of the distance, so a short distance can be doubled.
            distance = distance.wrapping_add(distance);
        } else {
            from = from.wrapping_add(step);
        }
    }
    for at in written..end {
        let byte = dst.get(from).copied().unwrap_or_default();
        if let Some(to) = dst.get_mut(at) {
            *to = byte;
        }
        from = from.wrapping_add(1);
    }
}
