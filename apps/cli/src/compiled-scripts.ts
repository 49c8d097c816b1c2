import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { basename, join } from 'node:path';
import { constants, Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/**
 * The delay after which compiled code is stored. Until then, a start has compiled the functions that it
 * needs. V8 discards functions that were not called for a long time, so the end of the process is too late.
 */
const storeAfterMs = 2000;
const checksumBytes = 4;

interface LoadedScript {
  readonly script: Script;
  /** The file of the compiled code. */
  readonly path: string;
}

const loaded: LoadedScript[] = [];
let timer: NodeJS.Timeout | undefined;

/**
 * Runs a script of the bundle and returns its value. The compiled code of the script is stored in the
 * folder of Node's compile cache. Node's own cache of a module contains only the functions that V8 compiles
 * when it loads the module. This cache also contains the functions that a start has called.
 */
export function runScript(url: URL): unknown {
  // Node uses a different folder for each of its versions. It has no folder if the cache is switched off.
  const folder = getCompileCacheDir();
  const path = folder && join(folder, basename(url.pathname));
  const cachedData = path && readCompiled(path);
  const script = new Script(readFileSync(url, 'utf8'), {
    filename: url.href,
    cachedData: cachedData || undefined,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (path) loaded.push({ script, path });
  // A new command of the user may need functions that the stored code of earlier scripts does not contain.
  // So all scripts are stored again when one of them has no stored code.
  if (path && (!cachedData || script.cachedDataRejected === true)) storeSoon();
  return script.runInThisContext();
}

/** Returns undefined if there is no file, or if the file is damaged. V8 does not check its content. */
function readCompiled(path: string): Buffer | undefined {
  try {
    const bytes = readFileSync(path);
    const length = bytes.length - checksumBytes;
    const code = bytes.subarray(0, length);
    return crc32(code) === bytes.readUInt32LE(length) ? code : undefined;
  } catch {
    return undefined;
  }
}

function storeSoon(): void {
  if (timer !== undefined) return;
  timer = setTimeout(store, storeAfterMs).unref();
  process.once('exit', store);
}

function store(): void {
  clearTimeout(timer);
  timer = undefined;
  process.off('exit', store);
  for (const { script, path } of loaded) storeCompiled(script, path);
}

/** Other processes never read an unfinished file. */
function storeCompiled(script: Script, path: string): void {
  const unfinished = `${path}.${process.pid}`;
  try {
    const code = script.createCachedData();
    const checksum = Buffer.alloc(checksumBytes);
    checksum.writeUInt32LE(crc32(code));
    writeFileSync(unfinished, Buffer.concat([code, checksum]), { mode: 0o600 });
    renameSync(unfinished, path);
  } catch {
    // The program also works without stored code, for example if the disk is full.
    rmSync(unfinished, { force: true });
  }
}
