import { realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { ConfigArgs } from '../contract/args.ts';
import type { ConfigFile, ServerScript, UntrustedFile } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { findProjectFile, foldersUpToRoot, isInside, userConfigFolder } from './config-paths.ts';
import { configSchema } from './config-schema.ts';
import { type FolderDecisions, readFoldersFile, updateFolder } from './folders-file.ts';
import { checkJsonFile, type JsonFile, readJsonFile } from './json-file.ts';
import { findServerScripts, fingerprintFiles } from './server-scripts.ts';
import { fingerprintRiskyParts, riskyContent, riskyParts, withoutRiskyParts } from './trust.ts';

interface LayersOptions {
  readonly args: ConfigArgs;
  readonly env: Env;
  readonly cwd: string;
  /** If set, no other configuration file is read. */
  readonly onlyFile: string | undefined;
  /** The parts of the project's file that the user has seen and trusts. Default: none. */
  readonly trusted?: UntrustedFile | undefined;
}

export interface Layers {
  /** The files, ordered from the lowest to the highest priority. */
  readonly layers: readonly Layer[];
  /** The stored decisions of the user about the folder. */
  readonly decisions: FolderDecisions;
  readonly foldersFile: string | undefined;
  /**
   * The parts of the project's file that were skipped, because the user does not trust them yet.
   */
  readonly untrusted?: UntrustedFile | undefined;
  /** A sentence for the user about each file that was skipped. */
  readonly warnings: readonly string[];
}

export async function readConfigLayers(options: LayersOptions): Promise<Layers> {
  const { env, cwd, onlyFile } = options;
  const folder = userConfigFolder(env);
  const foldersFile = folder && join(folder, 'folders.json');
  const folders = await readFoldersFile(foldersFile);
  const decisions = folders[await realpath(cwd)] ?? {};
  const warnings: string[] = [];
  const common = { decisions, foldersFile, warnings };
  if (onlyFile !== undefined)
    return { ...common, layers: [await readRequiredLayer(resolve(cwd, onlyFile), cwd)] };
  const user = folder && (await readLayer(join(folder, 'config.json'), 'user'));
  const path = await findProjectFile(cwd, (problem) => warnings.push(problem));
  const found = path && (await readLayer(path, 'project'));
  const project = found && withoutStore(found, (problem) => warnings.push(problem));
  const layers = user ? [user] : [];
  if (!project) return { ...common, layers };
  const root = await realpath(dirname(project.file.path));
  const userSettings = user ? user.settings : undefined;
  const scripts = await readScripts(project, cwd, root, folders[root]);
  const at = relative(root, await realpath(cwd));
  const untrusted = {
    path: project.file.path,
    parts: riskyParts(project.settings, userSettings),
    content: riskyContent(project.settings, userSettings),
    scripts,
    removedScripts: removedScripts(scripts, at, folders[root]),
  };
  const trusting = { ...options, foldersFile, root, at, userSettings };
  const isTrustedFile = await isTrusted(untrusted, project, folders[root], trusting);
  if (isTrustedFile) return { ...common, layers: [...layers, project] };
  const settings = withoutRiskyParts(project.settings, userSettings);
  return { ...common, layers: [...layers, { ...project, settings }], untrusted };
}

async function readLayer(
  path: string,
  owner: Layer['owner'],
  pipes = false,
): Promise<Layer | undefined> {
  const file = await readJsonFile(path, { pipes });
  return file && { file, owner, settings: checkJsonFile(file, configSchema()) };
}

/**
 * Returns a project's file without the session store. A store contains approvals and unfinished calls. If a
 * repository could bring a store, approvals of a stranger would count, so trust has no effect on this setting.
 */
function withoutStore(layer: Layer, warn: (problem: string) => void): Layer {
  const { store, ...settings } = layer.settings;
  if (store === undefined) return layer;
  const { path } = layer.file;
  warn(
    `"store" in ${path} has no effect, because a project cannot choose where your sessions are stored. Set "store" in your own config.json, or use --store <file> or MILLRACE_STORE`,
  );
  return { ...layer, settings };
}

async function readRequiredLayer(path: string, cwd: string): Promise<Layer> {
  const root = (await foldersUpToRoot(cwd)).at(-1) ?? cwd;
  // The user typed this path, so it may also be a pipe, such as `<(…)` of a shell.
  const layer = await readLayer(path, isInside(path, root) ? 'project' : 'user', true);
  if (layer !== undefined) return layer;
  const message = `Cannot use the configuration ${path}: the file does not exist. Remove --config and MILLRACE_CONFIG, or choose another file`;
  throw new ConfigError(message, { path });
}

/** Reads the files of the project that its MCP servers execute. */
async function readScripts(
  { settings }: Layer,
  cwd: string,
  root: string,
  { trusted, scripts: known = {} }: FolderDecisions = {},
): Promise<readonly ServerScript[]> {
  const { files } = await findServerScripts(Object.values(settings.mcpServers ?? {}), cwd);
  return (await fingerprintFiles(files)).map(({ path: file, fingerprint }) => {
    const path = relative(root, file);
    return { path, fingerprint, isChanged: trusted !== undefined && known[path] !== fingerprint };
  });
}

/**
 * Returns the files that servers executed from a working folder when the user trusted them, and that are not found any
 * more. Without such a file, an interpreter can find another file by the same name.
 */
function removedScripts(
  scripts: readonly ServerScript[],
  at: string,
  { started = {} }: FolderDecisions = {},
): readonly string[] {
  const found = new Set(scripts.map(({ path }) => path));
  return startedFrom(at, started).filter((path) => !found.has(path));
}

type Started = NonNullable<FolderDecisions['started']>;

const startedFrom = (at: string, started: Started) =>
  (Object.hasOwn(started, at) && started[at]) || [];

interface TrustOptions extends Pick<LayersOptions, 'args' | 'trusted'> {
  readonly foldersFile: string | undefined;
  readonly root: string;
  /** The working folder, relative to the root. */
  readonly at: string;
  /** The settings of the user's own file. */
  readonly userSettings: ConfigFile | undefined;
}

/**
 * Returns true if the user trusts the project's file. The user gives trust with `--trust` or with
 * an answer in the chat. This decision is stored, but only for the current content of the file, and
 * of the project's files that its MCP servers execute.
 */
async function isTrusted(
  { parts, content, scripts, removedScripts: removed = [] }: UntrustedFile,
  { settings }: Layer,
  decisions: FolderDecisions | undefined,
  { args, trusted: seen, foldersFile, root, at, userSettings }: TrustOptions,
): Promise<boolean> {
  if (parts.length === 0) return true;
  const trusted = fingerprintRiskyParts(settings, userSettings);
  const known = decisions?.scripts ?? {};
  const isKnown = ({ path, fingerprint }: ServerScript) => known[path] === fingerprint;
  const paths = scripts.map(({ path }) => path);
  const store = async () => {
    if (foldersFile === undefined) return;
    await updateFolder(foldersFile, root, (before) => {
      // From another working folder, the servers can execute other files.
      const isSame = before.trusted === trusted;
      const files = scripts.map((one) => [one.path, one.fingerprint] as const);
      const all = { ...(isSame && before.scripts), ...Object.fromEntries(files) };
      const started = { ...(isSame && before.started), [at]: paths };
      const { scripts: _, started: __, ...others } = before;
      const has = Object.keys(all).length > 0;
      return { ...others, trusted, ...(has && { scripts: all, started }) };
    });
  };
  if (decisions?.trusted === trusted && scripts.every(isKnown) && removed.length === 0) {
    // The list of a further working folder is stored too, so that a removed file ends the trust there.
    const isStored = startedFrom(at, decisions.started ?? {}).length === paths.length;
    if (!isStored) await store().catch(() => {});
    return true;
  }
  const isSeen =
    content === seen?.content && fingerprintsOf(scripts) === fingerprintsOf(seen.scripts);
  if (args.trust !== true && !isSeen) return false;
  await store();
  return true;
}

function fingerprintsOf(scripts: readonly ServerScript[]): string {
  return JSON.stringify(scripts.map(({ path, fingerprint }) => [path, fingerprint]));
}

/** One of the files from which the configuration is merged. */
export interface Layer {
  readonly file: JsonFile;
  /** The owner of the file: the project or the user. */
  readonly owner: 'user' | 'project';
  readonly settings: ConfigFile;
}
