import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/**
 * The delay between the last loaded script and the moment when compiled code is stored. Until then, a start
 * calls the functions that it needs, also on a slow machine. The end of a long session is too late, because
 * V8 discards functions that were not called for a long time.
 */
const storeAfterMs = 10_000;
/**
 * The number of starts that add functions to the stored code of a script. The first start can end at a
 * question, or show no chat. Each of these starts needs about 100 ms to store the code.
 */
const maxStarts = 4;
/** Compiled code of other versions of the program is deleted after this time. */
const keptMs = 30 * 24 * 60 * 60 * 1000;
/** At the end of a file: the number of starts that stored it, and a checksum of all bytes before. */
const trailerBytes = 8;

interface StoredCode {
  readonly code: Buffer;
  readonly starts: number;
}

interface LoadedScript {
  readonly script: Script;
  /** The file of the compiled code. */
  readonly path: string;
  readonly stored: StoredCode | undefined;
}

const loaded: LoadedScript[] = [];
/** True until the code of all loaded scripts is stored. */
let isStale = false;
let timer: NodeJS.Timeout | undefined;

/**
 * Runs a script of the bundle and returns its value. The compiled code of the script is stored in the
 * folder of Node's compile cache. What Node itself stores there contains only the functions that V8 compiles
 * when it loads a module. The code that is stored here also contains the functions that a start calls.
 */
export function runScript(url: URL): unknown {
  // The folder depends on the version of Node. It is undefined if the cache is switched off, and in workers.
  const folder = getCompileCacheDir();
  const path = folder && join(folder, basename(url.pathname));
  const found = path ? readCompiled(path) : undefined;
  const script = new Script(readFileSync(url, 'utf8'), {
    filename: url.href,
    ...(found !== undefined && { cachedData: found.code }),
  });
  const stored = script.cachedDataRejected === true ? undefined : found;
  if (path) {
    loaded.push({ script, path, stored });
    // This command can call functions of earlier scripts that other commands have not called. So all
    // scripts are stored again if one of them is not complete.
    if (stored === undefined || stored.starts < maxStarts) isStale = true;
    if (isStale) storeSoon();
  }
  return script.runInThisContext();
}

/**
 * Returns undefined if the file does not exist or is damaged. V8 does not notice damages, and would crash
 * in each later start.
 */
function readCompiled(path: string): StoredCode | undefined {
  try {
    const bytes = readFileSync(path);
    const length = bytes.length - trailerBytes;
    if (crc32(bytes.subarray(0, length + 4)) !== bytes.readUInt32LE(length + 4)) return undefined;
    return { code: bytes.subarray(0, length), starts: bytes.readUInt32LE(length) };
  } catch {
    return undefined;
  }
}

function storeSoon(): void {
  if (timer === undefined) process.once('exit', storeAll);
  clearTimeout(timer);
  timer = setTimeout(storeAll, storeAfterMs).unref();
}

function storeAll(): void {
  clearTimeout(timer);
  timer = undefined;
  isStale = false;
  process.off('exit', storeAll);
  for (const one of loaded) {
    storeCompiled(one);
    deleteOld(one.path);
  }
}

function storeCompiled({ script, path, stored }: LoadedScript): void {
  // Other processes must not read an unfinished file.
  const unfinished = `${path}.${process.pid}`;
  try {
    // In a folder that is read-only, this fails before V8 spends time on the code.
    writeFileSync(unfinished, '', { mode: 0o600 });
    const created = script.createCachedData();
    // The new code lacks functions that V8 has discarded.
    const isLess = stored !== undefined && stored.code.length > created.length;
    const starts = Buffer.alloc(4);
    starts.writeUInt32LE((stored?.starts ?? 0) + 1);
    const content = Buffer.concat([isLess ? stored.code : created, starts]);
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(crc32(content));
    writeFileSync(unfinished, Buffer.concat([content, checksum]));
    renameSync(unfinished, path);
  } catch {
    // The program also works without stored code, for example if the disk is full.
    deleteFile(unfinished);
  }
}

/** Deletes the compiled code of other versions of a script. */
function deleteOld(path: string): void {
  const folder = dirname(path);
  const [name = ''] = basename(path).split('-', 1);
  try {
    for (const file of readdirSync(folder)) {
      const other = join(folder, file);
      if (!file.startsWith(`${name}-`) || !file.includes('.script.js')) continue;
      if (Date.now() - statSync(other).mtimeMs > keptMs) deleteFile(other);
    }
  } catch {
    // The next process that stores code tries again.
  }
}

function deleteFile(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The file is in use, or its folder is read-only.
  }
}
