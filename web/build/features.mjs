// Prints the features of the formats that a module has: features.mjs NAME.
import { MODULES } from "../src/module.mjs";

console.log(MODULES[process.argv[2]].map((format) => format.replace(" ", "")).join());
