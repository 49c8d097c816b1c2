import { realpath, stat } from 'node:fs/promises';
import { basename, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FilePart, MediaPart } from '@millrace/core';
import { fileKind } from '@millrace/tools';
import { isInside } from '../../config/config-paths.ts';
import type { RunUnasked } from '../../contract/agent.ts';
import { UsageError } from '../../contract/errors.ts';
import { readFileSafely } from '../../safe-files.ts';
import { revealHidden } from '../../text/cells/reveal-hidden.ts';
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
  /**
   * The texts in which the user can have chosen a file: texts that the user typed, and paths of dropped files. A picture
   * outside of the folder is read only if one of them names it, because the other text can be from another person.
   * Default: none.
   */
  readonly chosen?: readonly string[] | undefined;
  /** Called with a sentence about the pictures that are attached, and with one about those that are not. */
  readonly onPictures?: ((sentence: string) => void) | undefined;
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

/** Returns true if a text consists only of paths of pictures or PDF documents, as when the user drops files. */
export function isOnlyPictures(text: string): boolean {
  const mentions = mentionsIn(text);
  let rest = text;
  for (const { start, end } of mentions.toReversed())
    rest = `${rest.slice(0, start)} ${rest.slice(end)}`;
  const paths = rest.match(pathForm) ?? [];
  const isPicture = (path: string) => isPicturePath(path.replace(/["']$/, ''));
  if (![...mentions.map(({ path }) => path), ...paths].every(isPicture)) return false;
  return text.trim() !== '' && rest.replaceAll(pathForm, '').trim() === '';
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
  const { chosen = [], onPictures = () => {} } = options;
  const named = new Set(chosen.flatMap((one) => picturePaths(one)));
  const found: (MediaPart | FilePart)[] = [];
  const attached: string[] = [];
  const refused: string[] = [];
  for (const path of picturePaths(text)) {
    const place = await placeOf(path, options);
    if (place === undefined) continue;
    if (place.isOutside && !named.has(path)) {
      refused.push(path);
      continue;
    }
    const picture = await readPicture(path, place, options);
    if (picture === undefined) continue;
    found.push(picture);
    attached.push(path);
  }
  if (attached.length > 0) onPictures(`Attached: ${shownPaths(attached)}`);
  if (refused.length > 0)
    onPictures(
      `Not attached: ${shownPaths(refused)}. It is outside of this folder, and a pasted text names it. To attach it, drop the file into the prompt, or type its path at the start of the message`,
    );
  return found;
}

function shownPaths(paths: readonly string[]): string {
  return paths.map(revealHidden).join(', ');
}

/** The place of an existing file that a message mentions. */
interface Place {
  readonly given: string;
  readonly real: string;
  /** The path from the folder of the session. Undefined if the given path is outside of it. */
  readonly named: string | undefined;
  readonly isOutside: boolean;
}

/** Finds a mentioned file. Returns undefined if it does not exist, or if a link in the folder leads out of the folder. */
async function placeOf(path: string, options: PictureOptions): Promise<Place | undefined> {
  const { cwd } = options;
  const given = absolutePath(path, options);
  const real = given && (await realpath(given).catch(() => undefined));
  if (given === undefined || real === undefined) return undefined;
  const root = await realpath(cwd).catch(() => cwd);
  const inFolder = [cwd, root].find((folder) => isInside(given, folder));
  const isOutside = !isInside(real, root);
  // An untrusted project can contain a link to a private picture. A path that the user wrote can be anywhere.
  if (inFolder !== undefined && isOutside) return undefined;
  const named = inFolder === undefined ? undefined : relative(inFolder, given);
  return { given, real, named, isOutside };
}

async function readPicture(
  path: string,
  { given, real, named, isOutside }: Place,
  { run }: PictureOptions,
): Promise<MediaPart | FilePart | undefined> {
  if (run === undefined) return pictureAt(real, path);
  let found: Promise<MediaPart | FilePart | undefined> | undefined;
  const said = await run(
    'read',
    { path: named ?? (isOutside ? given : real) },
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
