// Facts that files of some formats state besides their tensors and attributes, as plain values.

/** The items that a cursor lists. */
function listed(session, begin, next, struct) {
    return Array.from(session.handles(begin, next, struct, session.file), (at) => session.library.read(struct, at));
}

/** The functions and classes that a PyTorch checkpoint names. */
export function globalsOf(session) {
    const all = listed(session, "tenslice_pytorch_globals", "tenslice_pytorch_globals_next", "tenslice_pytorch_global");
    return all.map(({ module, name, is_known: isKnown }) => ({ module, name, isKnown: isKnown === 1 }));
}

/** The version, the producer and the sets of operators of an ONNX model. */
export function onnxOf(session) {
    const { library, file } = session;
    const at = library.make("tenslice_onnx_info");
    library.call("tenslice_onnx_get_info", file, at);
    const info = library.read("tenslice_onnx_info", at);
    const opsets = listed(session, "tenslice_onnx_opsets", "tenslice_onnx_opsets_next", "tenslice_onnx_opset");
    return {
        version: info.ir_version,
        producerName: info.producer_name,
        producerVersion: info.producer_version,
        opsets: opsets.map(({ domain, version }) => ({ domain: domain ?? "", version })),
    };
}

/** The subgraphs of a TFLite model. */
export function subgraphsOf(session) {
    const all = listed(session, "tenslice_tflite_subgraphs", "tenslice_tflite_subgraphs_next", "tenslice_tflite_subgraph");
    return all.map(({ name, tensor_count: tensorCount }) => ({ name: name ?? "", tensorCount }));
}

/** The segments of an ExecuTorch file, which the names of tensors refer to. */
export function segmentsOf(session) {
    const all = listed(session, "tenslice_ptd_segments", "tenslice_ptd_segments_next", "tenslice_ptd_segment");
    return all.map(({ offset, length }) => ({ offset, length }));
}
