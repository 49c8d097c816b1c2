import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FilePart, MediaPart } from '@millrace/core';
import { fileKind } from '@millrace/tools';
import { UsageError } from '../../contract/errors.ts';
import { mentionsIn } from '../completion/file-completions.ts';

/**
 * Maximum size of a picture. The `read` tool has the same limit, and providers accept this size.
 */
const maxBytes = 5_000_000;
/** Maximum size of a PDF document. */
const maxDocumentBytes = 10_000_000;
const maxPictures = 20;

interface PictureOptions {
  /** The folder to which relative paths refer. */
  readonly cwd: string;
  readonly home?: string | undefined;
}

/**
 * Returns the paths in a message that look like pictures or PDF documents. Examples are `@shot.png` and
 * `./shot.png`. Terminals insert the forms `'/a b/shot.png'` and `/a\ b/shot.png` when the user
 * drops a file.
 */
export function picturePaths(text: string): readonly string[] {
  const mentions = mentionsIn(text).map(({ path }) => path);
  const plain = [...text.matchAll(pathForm)].map(
    ([, double, single, bare = '']) => double ?? single ?? bare.replaceAll(/\\(.)/g, '$1'),
  );
  const paths = [...mentions, ...plain].filter((path) => pictureName.test(path));
  return [...new Set(paths)].slice(0, maxPictures);
}

const pictureName = /\.(?:png|jpe?g|gif|webp|pdf)$/i;
const pathForm = /(?<![^\s(])(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'@,;()])+))/g;

/**
 * Reads the pictures and PDF documents that a message mentions. If a path is neither, it stays text.
 * Throws if a file is too large for a model.
 */
export async function readPictures(
  text: string,
  options: PictureOptions,
): Promise<readonly (MediaPart | FilePart)[]> {
  const found: (MediaPart | FilePart)[] = [];
  for (const path of picturePaths(text)) {
    const picture = await readPicture(path, options);
    if (picture !== undefined) found.push(picture);
  }
  return found;
}

async function readPicture(
  path: string,
  options: PictureOptions,
): Promise<MediaPart | FilePart | undefined> {
  const file = await open(absolutePath(path, options), 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    const isDocument = /\.pdf$/i.test(path);
    const limit = isDocument ? maxDocumentBytes : maxBytes;
    if (stats.size > limit) throw tooLarge(path, stats.size, limit);
    const bytes = new Uint8Array(await file.readFile());
    const kind = fileKind(bytes);
    if (kind.type === 'document') {
      const source = { type: 'bytes', bytes } as const;
      return { kind: 'file', name: basename(path), mimeType: kind.mimeType, source };
    }
    if (kind.type !== 'image') return undefined;
    return { kind: 'media', mimeType: kind.mimeType, source: { type: 'bytes', bytes } };
  } finally {
    await file.close();
  }
}

function absolutePath(path: string, { cwd, home }: PictureOptions): string {
  if (path.startsWith('file://') && URL.canParse(path)) return fileURLToPath(path);
  if (home !== undefined && path.startsWith('~/')) return resolve(home, path.slice(2));
  return resolve(cwd, path);
}

function tooLarge(path: string, size: number, limit: number): UsageError {
  const message = `Cannot send ${path}: it has ${size} bytes, and it can have at most ${limit}. Make a smaller copy`;
  return new UsageError(message, { path });
}
