import { gzipSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import { root } from './published.ts';

/** How large a program is that a bundler made from an entry file. Sizes are in bytes. */
export interface BundleSize {
  /** Minified and compressed: the code that loads at the start. */
  readonly start: number;
  /** Minified and compressed: the code that loads only when it is needed (`import()`). */
  readonly onDemand: number;
  /** What `start` consists of, largest first. */
  readonly parts: readonly SizeShare[];
}

/** One folder or one package in a bundle. */
export interface SizeShare {
  readonly name: string;
  /** Its share of the compressed size, estimated from its share of the uncompressed size. */
  readonly bytes: number;
}

/** These are not part of the measured size: the platform has them, or the application has them anyway. */
const external = [/^node:/, /^react(?:$|\/)/];

/** Bundles the code of an entry file for a browser, as an application would, and measures it. */
export async function bundleSize(code: string): Promise<BundleSize> {
  const entry = `${root}packages/millrace/src/size-entry.ts`;
  const bundle = await rolldown({
    input: entry,
    cwd: root,
    platform: 'browser',
    external,
    resolve: { conditionNames: ['@millrace/source', 'browser', 'import', 'default'] },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [{ name: 'entry', resolveId: ownEntry, load: (id) => (id === entry ? code : null) }],
  });
  const { output } = await bundle.generate({ minify: true, format: 'esm' });
  await bundle.close();
  const chunks = output.filter((one) => one.type === 'chunk');
  const atStart = chunksAtStart(chunks);
  const start = sum(atStart.map(compressedLength));
  return {
    start,
    onDemand: sum(chunks.map(compressedLength)) - start,
    parts: shares(atStart, start),
  };

  function ownEntry(id: string): string | null {
    return id === entry ? entry : null;
  }
}

/** Returns the largest parts of a bundle as lines of text. */
export function sizeTable({ start, onDemand, parts }: BundleSize, rows = 25): string {
  const lines = parts.slice(0, rows).map(({ name, bytes }) => `${kilobytes(bytes)}  ${name}`);
  const rest = sum(parts.slice(rows).map(({ bytes }) => bytes));
  const head = `${kilobytes(start)}  at the start, ${kilobytes(onDemand).trim()} on demand`;
  return [head, ...lines, `${kilobytes(rest)}  everything else`].join('\n');
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1).padStart(7)} KB`;
}

/** The entry, and what it imports statically. */
function chunksAtStart(chunks: readonly OutputChunk[]): readonly OutputChunk[] {
  const found = new Set(chunks.filter((one) => one.isEntry));
  for (const chunk of found) {
    for (const other of chunks) if (chunk.imports.includes(other.fileName)) found.add(other);
  }
  return [...found];
}

function compressedLength({ code }: OutputChunk): number {
  return gzipSync(code, { level: 9 }).length;
}

function shares(chunks: readonly OutputChunk[], total: number): readonly SizeShare[] {
  const modules = chunks.flatMap(({ modules: all }) => Object.entries(all));
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
