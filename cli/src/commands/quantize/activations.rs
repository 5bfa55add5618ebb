//! The scales of activations, and the integers that follow from them and from the scales of weights.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::value::RawValue;
use tenslice::DType;

use super::plan::is_float;
use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::text::printable;
use crate::quantizing::{Quantizer, requantize};
use crate::writing::tensor::Item;

/// The layers of a file of `--activations`.
#[derive(Debug, Default)]
pub struct Activations(Vec<Layer>);

#[derive(Debug, PartialEq)]
struct Layer {
    name: String,
    /// The scales of the input and of the output.
    input: f64,
    output: f64,
    /// The names of tensors.
    weight: String,
    bias: Option<String>,
}

/// The fields of a layer, as they are written.
type Fields = BTreeMap<String, Box<RawValue>>;

impl Activations {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let fail = |message: String| Failure::new("InvalidArgument", format!("{}: {message}", path.display()));
        let text = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
        Self::parse(&text).map_err(fail)
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let layers: BTreeMap<String, Fields> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        layers.iter().map(|(name, fields)| Layer::parse(name, fields)).collect::<Result<_, _>>().map(Self)
    }

    /// True if a tensor is the bias of a layer.
    pub fn has_bias(&self, name: &str) -> bool {
        self.0.iter().any(|layer| layer.bias.as_deref() == Some(name))
    }

    /// Adds the multipliers and shifts behind the scales of the weights, and writes the biases as integers.
    pub fn apply(&self, items: &mut Vec<Item<'_>>, budget: &Budget) -> Result<(), Failure> {
        for layer in &self.0 {
            let (weight, scales) = layer.scales(items)?;
            let factors: Option<Vec<(i32, i32)>> =
                scales.iter().map(|scale| requantize::multiplier(layer.input * scale / layer.output)).collect();
            let too_large = || layer.fail(&layer.weight, "a factor is 2^30 or more: compare \"in\" with \"out\"");
            let (multipliers, shifts): (Vec<i32>, Vec<i32>) = factors.ok_or_else(too_large)?.into_iter().unzip();
            let lists = [("multiplier", multipliers), ("shift", shifts)]
                .map(|(ending, list)| items[weight].with_list(ending, DType::I32, bytes(&list)));
            if let Some(name) = &layer.bias {
                let bias = items.iter_mut().find(|item| item.name == *name);
                let bias = bias.ok_or_else(|| layer.fail(name, "there is no such tensor"))?;
                let integers = layer.integers(bias, &scales, budget)?;
                bias.replace(DType::I32, bytes(&integers));
            }
            items.splice(weight + 2..weight + 2, lists);
        }
        Ok(())
    }
}

impl Layer {
    fn parse(name: &str, fields: &Fields) -> Result<Self, String> {
        let fail = |message: &str| format!("layer \"{}\": {message}", printable(name));
        if let Some(key) = fields.keys().find(|key| !["in", "out", "weight", "bias"].contains(&key.as_str())) {
            return Err(fail(&format!("unknown key \"{}\": there are in, out, weight and bias", printable(key))));
        }
        let scale = |key: &str| {
            // serde_json's own parser can miss the nearest number by one unit in the last place.
            let number = fields.get(key).and_then(|text| text.get().parse::<f64>().ok());
            let number = number.filter(|scale| *scale > 0.0 && scale.is_finite());
            number.ok_or_else(|| fail(&format!("\"{key}\" must be a number above 0")))
        };
        let tensor = |key: &str| {
            let name = fields.get(key).map(|text| serde_json::from_str::<String>(text.get())).transpose();
            name.map_err(|_| fail(&format!("\"{key}\" must be the name of a tensor")))
        };
        Ok(Self {
            name: name.into(),
            input: scale("in")?,
            output: scale("out")?,
            weight: tensor("weight")?.ok_or_else(|| fail("\"weight\" is missing"))?,
            bias: tensor("bias")?,
        })
    }

    /// The index of the weight, and its scales.
    fn scales(&self, items: &[Item<'_>]) -> Result<(usize, Vec<f64>), Failure> {
        let index = items.iter().position(|item| item.name == self.weight);
        let quantizer = index.and_then(|index| Some((index, items[index].errors()?.0)));
        match quantizer {
            Some((index, Quantizer::Int8(scales))) => {
                Ok((index, scales.all().iter().map(|scale| f64::from(*scale)).collect()))
            }
            _ => Err(self.fail(&self.weight, "no such tensor is quantized")),
        }
    }

    /// The bias as integers.
    fn integers(&self, bias: &Item<'_>, scales: &[f64], budget: &Budget) -> Result<Vec<i32>, Failure> {
        if !is_float(bias.dtype()) {
            return Err(self.fail(&bias.name, "a bias must be floats"));
        }
        let mut numbers = Vec::new();
        bias.read_numbers(budget, &mut |_, more| {
            numbers.extend_from_slice(more);
            Ok(())
        })?;
        if scales.len() != 1 && scales.len() != numbers.len() {
            let message = format!("{} biases for {} channels", numbers.len(), scales.len());
            return Err(self.fail(&bias.name, &message));
        }
        let integer = |(x, scale): (&f32, &f64)| {
            let fits = requantize::bias(*x, self.input * scale);
            fits.ok_or_else(|| {
                self.fail(&bias.name, &format!("32 bits cannot hold the bias {x} in the scale of its layer"))
            })
        };
        numbers.iter().zip(scales.iter().cycle()).map(integer).collect()
    }

    fn fail(&self, tensor: &str, message: &str) -> Failure {
        let (layer, tensor) = (printable(&self.name), printable(tensor));
        Failure::new("InvalidArgument", format!("layer \"{layer}\" of --activations, tensor \"{tensor}\": {message}"))
    }
}

fn bytes(integers: &[i32]) -> Vec<u8> {
    integers.iter().flat_map(|integer| integer.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_parsed() {
        let parse = |text: &str| Activations::parse(text.as_bytes()).map(|all| all.0);
        let layer = Layer { name: "a".into(), input: 0.5, output: 2.0, weight: "w".into(), bias: Some("b".into()) };
        assert_eq!(parse(r#"{"a": {"in": 0.5, "out": 2, "weight": "w", "bias": "b"}}"#), Ok(vec![layer]));
        assert_eq!(parse(r#"{"a": {"in": 1, "out": 1, "weight": "w"}}"#).unwrap()[0].bias, None);
        for (wrong, message) in [
            ("[]", "invalid type: sequence, expected a map"),
            (r#"{"a": {"in": 1, "out": "1", "weight": "w"}}"#, "layer \"a\": \"out\" must be a number above 0"),
            (r#"{"a": {"in": 1, "out": 1}}"#, "layer \"a\": \"weight\" is missing"),
            (r#"{"a": {"in": 0, "out": 1, "weight": "w"}}"#, "layer \"a\": \"in\" must be a number above 0"),
            (r#"{"a": {"in": 1, "weight": "w"}}"#, "layer \"a\": \"out\" must be a number above 0"),
            (r#"{"a": {"in": 1, "out": 1, "weight": 1}}"#, "layer \"a\": \"weight\" must be the name of a tensor"),
            (r#"{"a": {"input": 1}}"#, "layer \"a\": unknown key \"input\": there are in, out, weight and bias"),
        ] {
            assert!(parse(wrong).unwrap_err().starts_with(message), "{wrong}");
        }
    }
}
