import { gzipSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import { root } from './published.ts';

/** The size of the code that loads at the start of a program, in bytes. */
export interface BundleSize {
  /** The size of the minified and compressed code. */
  readonly bytes: number;
  /** The parts of the code, largest first. */
  readonly parts: readonly SizeShare[];
}

/** One folder or one package in a bundle. */
interface SizeShare {
  readonly name: string;
  /** The compressed size of the part. It is estimated from the uncompressed size. */
  readonly bytes: number;
}

/** Modules that are not measured, because the platform or the application already has them. */
const external = [/^node:/, /^react(?:$|\/)/];

/**
 * Bundles an entry file for a browser, as an application does, and measures the code that loads at
 * the start. This code is one file. Some modules are needed at the start and also by code that
 * loads later. Bundlers such as webpack put them into the start file.
 */
export async function bundleSize(code: string): Promise<BundleSize> {
  const chunk = await bundled(code, false);
  const bytes = compressedLength(chunk);
  return { bytes, parts: shares(chunk, bytes) };
}

/** Returns the code that loads at the start. Code that loads on demand is not included. */
export async function startCode(code: string): Promise<string> {
  return (await bundled(code, false)).code;
}

/**
 * Bundles code into one file. If `isWhole` is true, the file includes the code that loads on
 * demand.
 */
async function bundled(code: string, isWhole: boolean): Promise<OutputChunk> {
  const entry = `${root}packages/millrace/src/size-entry.ts`;
  const bundle = await rolldown({
    input: entry,
    cwd: root,
    platform: 'browser',
    external: [...external, /^react-dom(?:$|\/)/],
    // The directive "use client" has no meaning in a module for browsers.
    onLog: (level, log, next) => log.code === 'MODULE_LEVEL_DIRECTIVE' || next(level, log),
    // Style sheets are separate files, so they do not count.
    moduleTypes: { '.css': 'empty' },
    resolve: { conditionNames: ['@millrace/source', 'browser', 'import', 'default'] },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [
      {
        name: 'entry',
        resolveId: (id, _from, { kind }) => {
          if (id === entry) return entry;
          return kind === 'dynamic-import' && !isWhole ? { id, external: true } : null;
        },
        load: (id) => (id === entry ? code : null),
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true, format: 'esm', codeSplitting: false });
  await bundle.close();
  return output[0];
}

/**
 * Returns the largest parts of a bundle as lines of text. They help a developer to reduce the size.
 */
export async function sizeTable(code: string, rows = 25): Promise<string> {
  const { bytes, parts } = await bundleSize(code);
  const onDemand = compressedLength(await bundled(code, true)) - bytes;
  const lines = parts.slice(0, rows).map((part) => `${kilobytes(part.bytes)}  ${part.name}`);
  const rest = sum(parts.slice(rows).map((part) => part.bytes));
  const head = `${kilobytes(bytes)}  at the start, ${kilobytes(onDemand).trim()} on demand`;
  return [head, ...lines, `${kilobytes(rest)}  everything else`].join('\n');
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1).padStart(7)} KB`;
}

function compressedLength({ code }: OutputChunk): number {
  return gzipSync(code, { level: 9 }).length;
}

function shares(chunk: OutputChunk, total: number): readonly SizeShare[] {
  const modules = Object.entries(chunk.modules);
  const length = sum(modules.map(([, { renderedLength }]) => renderedLength));
  const groups = Map.groupBy(modules, ([path]) => placeOf(path));
  return [...groups]
    .map(([name, members]) => ({
      name,
      bytes: (total * sum(members.map(([, one]) => one.renderedLength))) / length,
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

/**
 * Returns the name of the part to which a module belongs: its folder in this repository, or its
 * package.
 */
function placeOf(path: string): string {
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(path) ?? [];
  return name ?? path.replace(root, '').replace(/\/[^/]+$/, '');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
