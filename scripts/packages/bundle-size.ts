import { gzipSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import { root } from './published.ts';

/** The size of the code that loads at the start of a program, in bytes. */
export interface BundleSize {
  /** The size of the minified and compressed code. */
  readonly bytes: number;
  /** The parts of the code, the largest first. */
  readonly parts: readonly SizeShare[];
}

/** One folder or one package in a bundle. */
interface SizeShare {
  readonly name: string;
  /** The part's compressed size. It is estimated from its share of the uncompressed size. */
  readonly bytes: number;
}

/**
 * Modules that are not part of the measured size, because the platform or the application already
 * has them.
 */
const external = [/^node:/, /^react(?:$|\/)/];

/**
 * Bundles the code of an entry file for a browser, like an application does, and measures it. The
 * code that loads at the start is one file. Bundlers such as webpack also put modules there that
 * the start shares with code that loads later.
 */
export async function bundleSize(code: string): Promise<BundleSize> {
  const chunk = await bundled(code, false);
  const bytes = compressedLength(chunk);
  return { bytes, parts: shares(chunk, bytes) };
}

/** Returns the code that loads at the start, without the code that loads on demand. */
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

/**
 * Returns the largest parts of a bundle as lines of text, for a person who wants to reduce the
 * size.
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
 * Returns the place to which a module's size is added: its folder in this repository, or its
 * package.
 */
function placeOf(path: string): string {
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(path) ?? [];
  return name ?? path.replace(root, '').replace(/\/[^/]+$/, '');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
