import { realpath, stat } from 'node:fs/promises';
import { basename, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FilePart, MediaPart } from '@millrace/core';
import { fileKind } from '@millrace/tools';
import { isInside } from '../../config/config-paths.ts';
import type { RunUnasked } from '../../contract/agent.ts';
import { UsageError } from '../../contract/errors.ts';
import { readFileSafely } from '../../safe-files.ts';
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
  /** Reads a picture with the rules and the hooks of the session. Default: without rules and hooks. */
  readonly run?: RunUnasked | undefined;
}

/**
 * Returns the paths in a message that look like pictures or PDF documents. Examples are `@shot.png` and
 * `./shot.png`. Terminals insert the forms `'/a b/shot.png'` and `/a\ b/shot.png` when the user
 * drops a file, and on Windows the forms `C:\a\shot.png` and `"C:\a b\shot.png"`.
 */
export function picturePaths(
  text: string,
  platform: NodeJS.Platform = process.platform,
): readonly string[] {
  const mentions = mentionsIn(text).map(({ path }) => path);
  const withoutEscapes = (bare: string) =>
    platform === 'win32' ? bare : bare.replaceAll(/\\(.)/g, '$1');
  const plain = [...text.matchAll(pathForm)].map(
    ([, double, single, bare = '']) => double ?? single ?? withoutEscapes(bare),
  );
  const paths = [...mentions, ...plain].filter(isPicturePath);
  return [...new Set(paths)].slice(0, maxPictures);
}

/** Returns true if a path has the name of a picture or a PDF document. */
export function isPicturePath(path: string): boolean {
  return pictureName.test(path);
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
  const { cwd, run } = options;
  const given = absolutePath(path, options);
  const real = given && (await realpath(given).catch(() => undefined));
  if (given === undefined || real === undefined) return undefined;
  const root = await realpath(cwd).catch(() => cwd);
  const inFolder = [cwd, root].find((folder) => isInside(given, folder));
  // An untrusted project can contain a link to a private picture. A path that the user wrote can be anywhere.
  if (inFolder !== undefined && !isInside(real, root)) return undefined;
  if (run === undefined) return pictureAt(real, path);
  const named = inFolder === undefined ? undefined : relative(inFolder, given);
  let found: Promise<MediaPart | FilePart | undefined> | undefined;
  const said = await run(
    'read',
    { path: named ?? (isInside(real, root) ? real : given) },
    {
      attach: async (judged) => {
        found = pictureAt(judged, path);
        return (await found.catch(() => undefined)) === undefined ? 'No picture' : 'A picture';
      },
    },
  );
  return said === undefined ? undefined : found;
}

/** Reads a picture. Returns undefined if the file is neither a picture nor a PDF document. */
async function pictureAt(real: string, path: string): Promise<MediaPart | FilePart | undefined> {
  const { size } = await stat(real).catch(() => ({ size: 0 }));
  const limit = /\.pdf$/i.test(path) ? maxDocumentBytes : maxBytes;
  if (size > limit) throw tooLarge(path, size, limit);
  const read = await readFileSafely(real, { maxBytes: limit }).catch(() => undefined);
  if (read === undefined) return undefined;
  const bytes = new Uint8Array(read.bytes);
  const kind = fileKind(bytes);
  const source = { type: 'bytes', bytes } as const;
  switch (kind.type) {
    case 'image':
      return { kind: 'media', mimeType: kind.mimeType, source };
    case 'document':
      return { kind: 'file', name: basename(path), mimeType: kind.mimeType, source };
    default:
      return undefined;
  }
}

function absolutePath(path: string, { cwd, home }: PictureOptions): string | undefined {
  if (path.startsWith('file://') && URL.canParse(path)) {
    try {
      return fileURLToPath(path);
    } catch {
      // The address names another machine.
      return undefined;
    }
  }
  if (home !== undefined && (path.startsWith('~/') || path.startsWith('~\\')))
    return resolve(home, path.slice(2));
  return resolve(cwd, path);
}

function tooLarge(path: string, size: number, limit: number): UsageError {
  const message = `Cannot send ${path}: it has ${size} bytes, and it can have at most ${limit}. Make a smaller copy`;
  return new UsageError(message, { path });
}
