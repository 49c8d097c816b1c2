import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vitest/config';

const bundler = fileURLToPath(new URL('bundled-program.ts', import.meta.url));

/** The address of a worker in a module that can start the worker from its source. Captures the path. */
const workerAddress =
  /new URL\(\s*isSource \? ('[^']+\.ts') : '[^']+\.js',\s*import\.meta\.url,?\s*\)/;

/**
 * Makes modules start the bundle of their worker, as in the published program. A worker thread that runs from
 * its sources needs 0.15 s of CPU time to start, because each thread loads the converter of TypeScript again.
 * The test process finds the bundle, because Vitest keeps the changed code for later runs.
 */
export function bundledWorkers(): Plugin {
  return {
    name: 'bundled-workers',
    enforce: 'pre',
    transform: (code) =>
      workerAddress.test(code)
        ? `import { bundledProgram } from ${JSON.stringify(bundler)};
import { pathToFileURL } from 'node:url';
${code.replace(workerAddress, 'pathToFileURL(bundledProgram(new URL($1, import.meta.url)))')}`
        : null,
  };
}
