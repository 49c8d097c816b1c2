import { gzipSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import { root } from './published.ts';

/** How large the code is that loads at the start of a program. Sizes are in bytes. */
export interface BundleSize {
  /** Minified and compressed. */
  readonly bytes: number;
  /** What it consists of, largest first. */
  readonly parts: readonly SizeShare[];
}

/** One folder or one package in a bundle. */
interface SizeShare {
  readonly name: string;
  /** Its share of the compressed size, estimated from its share of the uncompressed size. */
  readonly bytes: number;
}

/** These are not part of the measured size: the platform has them, or the application has them anyway. */
const external = [/^node:/, /^react(?:$|\/)/];

/**
 * Bundles the code of an entry file for a browser, as an application would, and measures it. The code that
 * loads at the start is one file: bundlers such as webpack put the modules there that the start shares with
 * the code that loads later.
 */
export async function bundleSize(code: string): Promise<BundleSize> {
  const chunk = await bundled(code, false);
  const bytes = compressedLength(chunk);
  return { bytes, parts: shares(chunk, bytes) };
}

/** Returns the code that loads at the start. Code that loads on demand is missing. */
export async function startCode(code: string): Promise<string> {
  return (await bundled(code, false)).code;
}

/** Returns the only file of a bundle, with or without the code that loads on demand. */
async function bundled(code: string, isWhole: boolean): Promise<OutputChunk> {
  const entry = `${root}packages/millrace/src/size-entry.ts`;
  const bundle = await rolldown({
    input: entry,
    cwd: root,
    platform: 'browser',
    external,
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

/** Returns the largest parts of a bundle as lines of text, for a person who looks for savings. */
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

/** A module of this repository counts to its folder, another one to its package. */
function placeOf(path: string): string {
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(path) ?? [];
  return name ?? path.replace(root, '').replace(/\/[^/]+$/, '');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
