import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ConfigArgs } from '../contract/args.ts';
import type { ConfigFile, Untrusted } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { findProjectFile, userFolder } from './config-paths.ts';
import { configSchema } from './config-schema.ts';
import { changeFolder, type FolderDecisions, readFolders } from './folders-file.ts';
import { checkFile, type JsonFile, readJsonFile } from './json-file.ts';
import { fingerprint, riskyParts, withoutRisky } from './trust.ts';

interface LayersOptions {
  readonly args: ConfigArgs;
  readonly env: Env;
  readonly cwd: string;
  /** A file that is to be used alone. */
  readonly onlyFile: string | undefined;
}

export interface Layers {
  /** Weakest first. */
  readonly layers: readonly Layer[];
  /** What was decided about the folder. */
  readonly decisions: FolderDecisions;
  readonly foldersFile: string | undefined;
  /** What was left out, because nobody said that it is trusted. */
  readonly untrusted?: Untrusted | undefined;
}

export async function configLayers(options: LayersOptions): Promise<Layers> {
  const { env, cwd, onlyFile } = options;
  const folder = userFolder(env);
  const foldersFile = folder && join(folder, 'folders.json');
  const folders = await readFolders(foldersFile);
  const decisions = folders[await realpath(cwd)] ?? {};
  const kept = { decisions, foldersFile };
  if (onlyFile !== undefined)
    return { ...kept, layers: [await neededLayer(resolve(cwd, onlyFile))] };
  const user = folder && (await readLayer(join(folder, 'config.json')));
  const path = await findProjectFile(cwd);
  const project = path && (await readLayer(path));
  const layers = user ? [user] : [];
  if (!project) return { ...kept, layers };
  const root = await realpath(dirname(project.file.path));
  const own = user ? user.settings : undefined;
  const trusting = { ...options, foldersFile, root, own };
  const isTrusted = await isTrustedLayer(project, folders[root], trusting);
  if (isTrusted) return { ...kept, layers: [...layers, project] };
  const untrusted = { path: project.file.path, parts: riskyParts(project.settings, own) };
  const settings = withoutRisky(project.settings, own);
  return { ...kept, layers: [...layers, { ...project, settings }], untrusted };
}

async function readLayer(path: string): Promise<Layer | undefined> {
  const file = await readJsonFile(path);
  return file && { file, settings: checkFile(file, configSchema) };
}

async function neededLayer(path: string): Promise<Layer> {
  const layer = await readLayer(path);
  if (layer !== undefined) return layer;
  const message = `Cannot use the configuration ${path}: there is no such file. Leave out --config and MILLRACE_CONFIG, or name another`;
  throw new ConfigError(message, { path });
}

interface Trusting extends Pick<LayersOptions, 'args'> {
  readonly foldersFile: string | undefined;
  readonly root: string;
  /** The user's own file. */
  readonly own: ConfigFile | undefined;
}

/** `--trust` is remembered, for the file as it is now. */
async function isTrustedLayer(
  { settings }: Layer,
  decisions: FolderDecisions | undefined,
  { args, foldersFile, root, own }: Trusting,
): Promise<boolean> {
  if (riskyParts(settings, own).length === 0) return true;
  const trusted = fingerprint(settings, own);
  if (decisions?.trusted === trusted) return true;
  if (args.trust !== true) return false;
  if (foldersFile !== undefined)
    await changeFolder(foldersFile, root, (known) => ({ ...known, trusted }));
  return true;
}

/** One of the files that a configuration is made of. */
export interface Layer {
  readonly file: JsonFile;
  readonly settings: ConfigFile;
}
