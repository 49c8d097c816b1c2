import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MediaPart } from '@millrace/core';
import { fileKind } from '@millrace/tools';
import { UsageError } from '../../contract/errors.ts';
import { mentionsIn } from '../completion/file-completions.ts';

/**
 * Maximum size of a picture. The `read` tool has the same limit, and providers accept this size.
 */
const maxBytes = 5_000_000;
const maxPictures = 20;

interface PictureOptions {
  /** The folder to which relative paths refer. */
  readonly cwd: string;
  readonly home?: string | undefined;
}

/**
 * Returns the paths in a message that look like pictures. Examples are `@shot.png` and
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

const pictureName = /\.(?:png|jpe?g|gif|webp)$/i;
const pathForm = /(?<![^\s(])(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'@,;()])+))/g;

/**
 * Reads the pictures that a message mentions. If a path is not a picture, it stays text. Throws if
 * a picture is too large for a model.
 */
export async function readPictures(
  text: string,
  options: PictureOptions,
): Promise<readonly MediaPart[]> {
  const found: MediaPart[] = [];
  for (const path of picturePaths(text)) {
    const picture = await readPicture(path, options);
    if (picture !== undefined) found.push(picture);
  }
  return found;
}

async function readPicture(path: string, options: PictureOptions): Promise<MediaPart | undefined> {
  const file = await open(absolutePath(path, options), 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    if (stats.size > maxBytes) throw tooLarge(path, stats.size);
    const bytes = new Uint8Array(await file.readFile());
    const kind = fileKind(bytes);
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

function tooLarge(path: string, size: number): UsageError {
  const message = `Cannot send ${path}: it has ${size} bytes, and a picture can have at most ${maxBytes}. Make a smaller copy`;
  return new UsageError(message, { path });
}
