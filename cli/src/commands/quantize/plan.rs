//! Reads the chosen tensors, checks that they can be quantized, and computes their scales.

use tenslice::DType;
use tenslice::blocks::BlockType;

use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::progress;
use crate::quantizing::int8::{Channels, Magnitudes};
use crate::quantizing::{Fault, Quantizer, blocks};
use crate::writing::tensor::Item;

/// The indices of the tensors that are quantized: those that are chosen, of floats, with two dimensions or more.
pub fn choose(items: &[Item<'_>], is_chosen: impl Fn(&str) -> bool) -> Vec<usize> {
    let is_wanted = |item: &Item<'_>| is_float(item.dtype()) && item.shape.len() >= 2 && is_chosen(&item.name);
    (0..items.len()).filter(|index| is_wanted(&items[*index])).collect()
}

/// True for the types that are quantized.
pub fn is_float(dtype: Option<DType>) -> bool {
    matches!(dtype, Some(DType::F16 | DType::BF16 | DType::F32 | DType::F64))
}

/// Quantizes the chosen tensors to integers, and adds the scales behind each: one, or one for each channel.
pub fn to_int8(
    items: &mut Vec<Item<'_>>,
    chosen: &[usize],
    axis: Option<usize>,
    budget: &Budget,
) -> Result<(), Failure> {
    let mut all = Vec::new();
    each_read(items, chosen, budget, |item, read| {
        let channels = match axis {
            None => Channels::WHOLE,
            Some(axis) if axis < item.shape.len() => Channels::along(&item.shape, axis),
            Some(axis) => {
                let rank = item.shape.len();
                let message =
                    format!("--per-channel={axis}: there are {rank} dimensions, from 0 on; use --only or --exclude");
                return Err(item.fail(&message));
            }
        };
        let mut magnitudes = Magnitudes::new(channels);
        read(&mut |first, numbers| magnitudes.add(first, numbers))?;
        all.push(magnitudes.scales());
        Ok(())
    })?;
    let mut all = chosen.iter().zip(all).peekable();
    for (index, mut item) in std::mem::take(items).into_iter().enumerate() {
        let Some((_, scales)) = all.next_if(|(chosen, _)| **chosen == index) else {
            items.push(item);
            continue;
        };
        let bytes = scales.all().iter().flat_map(|scale| scale.to_le_bytes()).collect();
        let list = item.with_list("scale", DType::F32, bytes);
        item.quantize(Quantizer::Int8(scales));
        items.extend([item, list]);
    }
    Ok(())
}

/// Quantizes the chosen tensors to blocks. Returns the names of those that stay as they are, because a row has no whole
/// blocks.
pub fn to_blocks(
    items: &mut [Item<'_>],
    chosen: &[usize],
    block_type: BlockType,
    budget: &Budget,
) -> Result<Vec<String>, Failure> {
    let is_whole = |item: &Item<'_>| {
        let is_multiple = item.shape.last().is_some_and(|length| length.is_multiple_of(block_type.elements()));
        is_multiple && !item.shape.contains(&0)
    };
    let (chosen, kept): (Vec<usize>, Vec<usize>) = chosen.iter().partition(|index| is_whole(&items[**index]));
    each_read(items, &chosen, budget, |_, read| {
        read(&mut |first, numbers| blocks::check(block_type, first, numbers))
    })?;
    for index in chosen {
        items[index].quantize(Quantizer::Blocks(block_type));
    }
    Ok(kept.into_iter().map(|index| items[index].name.clone()).collect())
}

/// Takes numbers of a tensor, with the index of the first one.
type Taker<'t> = dyn FnMut(u64, &[f32]) -> Result<(), Fault> + 't;

/// Calls `f` with each chosen tensor and a function that reads its numbers piece by piece. Shows the progress.
fn each_read(
    items: &[Item<'_>],
    chosen: &[usize],
    budget: &Budget,
    mut f: impl FnMut(&Item<'_>, &mut dyn FnMut(&mut Taker<'_>) -> Result<(), Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let length = |index: &usize| items[*index].length();
    let bar = progress::bar(chosen.iter().map(length).fold(0, u64::saturating_add));
    for index in chosen {
        let item = &items[*index];
        f(item, &mut |take| {
            item.read_numbers(budget, &mut |first, numbers| {
                take(first, numbers).map_err(|fault| {
                    let Fault { element, reason } = fault;
                    item.fail(&format!("element {element} {reason}; leave the tensor out with --exclude"))
                })
            })?;
            bar.inc(length(index));
            Ok(())
        })?;
    }
    bar.finish_and_clear();
    Ok(())
}
