import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { foldersUpToRoot, isOwn, userConfigFolder } from '../config/config-paths.ts';
import { readFoldersFile, updateFolder } from '../config/folders-file.ts';
import type { Config } from '../contract/config.ts';
import type {
  Extensions,
  Hook,
  InstructionFile,
  UntrustedExtensions,
} from '../contract/extensions.ts';
import type { Env } from '../contract/host.ts';
import { type PluginLayout, readPluginLayout } from '../plugins/plugin-layout.ts';
import { trustedPlugins } from '../plugins/plugin-store.ts';
import { findAgentFiles } from './agent-files.ts';
import { findExtensionModules } from './code/module-files.ts';
import { findCustomCommands } from './custom-commands.ts';
import { type ExtensionPlace, readExtensionFile } from './extension-files.ts';
import { projectYamlBudget } from './front-matter.ts';
import { readHookScripts } from './hook-scripts.ts';
import { parseHookSettings } from './hook-settings.ts';
import { findSkills } from './skills.ts';

interface LoadOptions {
  readonly env: Env;
  readonly cwd: string;
  readonly config: Pick<Config, 'foldersFile'> & Partial<Pick<Config, 'permissions'>>;
  /** True if the user gives trust with `--trust`. */
  readonly trust?: boolean | undefined;
  /** The fingerprint of the extensions that the user has seen and trusts. Default: none. */
  readonly trustedFingerprint?: string | undefined;
}

interface LoadedExtensions {
  readonly extensions: Extensions;
  /** The extensions of the project that are not used. Undefined if there are none. */
  readonly untrusted?: UntrustedExtensions | undefined;
}

type Found = UntrustedExtensions['found'];

/**
 * Finds the skills, commands, sub-agents, hooks and instruction files of the user and of the project.
 * Those of the project are used only if the user trusts them. The decision is stored for the root of
 * the repository. It ends when a hook or one of its scripts changes, or when a file is added. After a file was
 * added, the unchanged hooks still run, because they can protect the user from calls. If a hook has changed,
 * the calls that the hooks would check need an approval.
 */
export async function loadExtensions(options: LoadOptions): Promise<LoadedExtensions> {
  const { env, cwd, config, trust, trustedFingerprint } = options;
  const problems: string[] = [];
  const warn = (problem: string) => void problems.push(problem);
  const folders = await foldersUpToRoot(cwd);
  const root = await realpath(folders.at(-1) ?? cwd);
  const plugins = await Promise.all(
    (await trustedPlugins(env, warn)).map((one) => pluginPlace(one, { root, cwd }, warn)),
  );
  const user = await findAll(
    [...(await userPlaces(env, { root, cwd })), ...plugins],
    userInstructions(env),
    warn,
  );
  const ofProject: string[] = [];
  const project = await findAll(
    await projectPlaces(folders, env, { root, cwd, rules: config.permissions?.rules }),
    await projectInstructions(folders, cwd),
    (problem) => void ofProject.push(problem),
  );
  const ofUser = { ...user, hookFiles: [], areHooksUnchanged: always, problems };
  if (isEmpty(project)) return { extensions: ofUser };
  const { hooks } = project;
  const stored = (await readFoldersFile(config.foldersFile))[root] ?? {};
  const wasTrusted = stored.extensions !== undefined || stored.hooks !== undefined;
  if (!wasTrusted && trust !== true && trustedFingerprint === undefined) {
    // The search for scripts can take a second. Without a question, nobody needs its result.
    const fingerprint = async () =>
      fingerprintOf(project, (await readHookScripts(hooks, { root, cwd })).digest, root);
    return { extensions: ofUser, untrusted: { root, found: project, fingerprint } };
  }
  const { digest, paths: hookFiles } = await readHookScripts(hooks, { root, cwd });
  const ofHooks = fingerprintOf({ ...project, ...noTexts }, digest, root);
  const fingerprint = fingerprintOf(project, digest, root);
  const isSeen =
    stored.extensions === fingerprint || trust === true || trustedFingerprint === fingerprint;
  const isStored = stored.extensions === fingerprint && stored.hooks === ofHooks;
  if (isSeen && !isStored && config.foldersFile !== undefined)
    await updateFolder(config.foldersFile, root, (known) => ({
      ...known,
      extensions: fingerprint,
      hooks: ofHooks,
    }));
  let isUnchanged = true;
  const areHooksUnchanged = async () => {
    // After one change, no content counts as trusted any more. A command could restore the script.
    if ((await readHookScripts(hooks, { root, cwd })).digest !== digest) isUnchanged = false;
    return isUnchanged;
  };
  const codeFiles = project.modules.flatMap(({ files = {} }) => Object.keys(files));
  const guarded = [...new Set([...hookFiles, ...codeFiles.map((file) => dirname(file))])];
  const all = { hookFiles: guarded, areHooksUnchanged, problems: [...problems, ...ofProject] };
  if (isSeen) return { extensions: { ...mergeFound(project, user), ...all } };
  const hasTrustedHooks = hooks.length > 0 && stored.hooks === ofHooks;
  const found = hasTrustedHooks ? { ...project, hooks: [] } : project;
  const untrusted = { root, found, fingerprint: () => Promise.resolve(fingerprint) };
  if (hasTrustedHooks)
    return { extensions: { ...ofUser, ...all, hooks: [...user.hooks, ...hooks] }, untrusted };
  const guards = wasTrusted ? hooks.filter(isGuard).map(asEndedGuard) : [];
  const never = () => Promise.resolve(false);
  const areGuardsUnchanged = guards.length > 0 ? never : always;
  return {
    extensions: {
      ...{ ...ofUser, hooks: [...user.hooks, ...guards], areHooksUnchanged: areGuardsUnchanged },
    },
    untrusted,
  };
}

/** The parts of a plugin that a session uses. */
export interface LoadedPlugin {
  readonly layout: PluginLayout;
  readonly found: Found;
  /** A sentence about each part that is not used. */
  readonly problems: readonly string[];
}

/** Finds what a session would use of a plugin. The question about a new plugin shows the result. */
export async function loadPlugin(folder: string, name: string): Promise<LoadedPlugin> {
  const problems: string[] = [];
  const warn = (problem: string) => void problems.push(problem);
  const place = await pluginPlace({ folder, name }, { root: folder, cwd: folder }, warn);
  return { layout: place.plugin, found: await findAll([place], [], warn), problems };
}

async function pluginPlace(
  { folder, name }: { readonly folder: string; readonly name: string },
  { root, cwd }: At,
  warn: (problem: string) => void,
) {
  const plugin = await readPluginLayout(folder, name);
  plugin.problems.forEach(warn);
  return { folder, plugin, parent: root, origin: 'user', root, cwd } as const;
}

const noTexts = { skills: [], commands: [], agents: [], instructions: [], modules: [] };

/** A guard is a hook that can stop a call before it runs. */
const isGuard = ({ event }: Hook) => event === 'PreToolUse';

/**
 * Returns a guard that does not run. Instead, the calls that match it need an approval. If its matcher is a
 * regular expression, the guard matches all calls, because an untrusted regular expression could take very long.
 */
function asEndedGuard(hook: Hook): Hook {
  const isPlain = hook.matcher === undefined || /^[\w\s|,-]+$/.test(hook.matcher);
  return { ...hook, matcher: isPlain ? hook.matcher : undefined, condition: undefined };
}

const always = () => Promise.resolve(true);

/** The extensions of a session without any. */
export const noExtensions: Extensions = {
  ...{
    skills: [],
    commands: [],
    agents: [],
    hooks: [],
    instructions: [],
    modules: [],
    problems: [],
  },
  ...{ hookFiles: [], areHooksUnchanged: always },
};

/** If several extensions have the same name, the one of the project is used. All hooks run. */
function mergeFound(project: Found, user: Found): Found {
  return {
    skills: byName([...project.skills, ...user.skills]),
    commands: byName([...project.commands, ...user.commands]),
    agents: byName([...project.agents, ...user.agents]),
    hooks: [...user.hooks, ...project.hooks],
    instructions: [...user.instructions, ...project.instructions],
    modules: [...user.modules, ...project.modules],
  };
}

/**
 * Keeps the first extension of each name. If an earlier extension has the name of a plugin's extension, the later
 * extension gets a longer name, which starts with the name of the plugin: `orders:status`.
 */
function byName<One extends { readonly name: string; readonly plugin?: string | undefined }>(
  all: readonly One[],
): readonly One[] {
  const first = new Map<string, One>();
  for (const one of all) {
    const { name, plugin } = one;
    const free = first.has(name) && plugin !== undefined ? `${plugin}:${name}` : name;
    if (!first.has(free)) first.set(free, { ...one, name: free });
  }
  return [...first.values()];
}

function isEmpty(found: Found): boolean {
  return Object.values(found).every((list: readonly unknown[]) => list.length === 0);
}

async function findAll(
  places: readonly ExtensionPlace[],
  instructions: readonly InstructionFile[],
  warn: (problem: string) => void,
): Promise<Found> {
  // `.agents` is a shared folder of several programs, and only its skills have a common format.
  const own = places.filter(({ folder }) => basename(folder) !== '.agents');
  const each = async <One>(find: (place: ExtensionPlace) => Promise<readonly One[]>) =>
    (await Promise.all(own.map(find))).flat();
  const [skills, commands, agents, hooks, modules] = await Promise.all([
    Promise.all(places.map((place) => findSkills(place, warn))).then((found) => found.flat()),
    each((place) => findCustomCommands(place, warn)),
    each((place) => findAgentFiles(place, warn)),
    // The model does not get the text of hooks and code, so rules about reading do not apply to them.
    each((place) => findHooks({ ...place, rules: [] }, warn)),
    Promise.all(
      own.filter(isCodePlace).map((place) => findExtensionModules({ ...place, rules: [] }, warn)),
    ).then((found) => found.flat()),
  ]);
  const existing = await Promise.all(
    instructions.map(async (file) => ((await isFile(file.path)) ? file : undefined)),
  );
  return {
    ...{ skills: byName(skills), commands: byName(commands), agents: byName(agents), hooks },
    modules,
    instructions: existing.filter((file) => file !== undefined),
  };
}

/** Code is only in our own folders, because other programs have extensions in other formats. */
const isCodePlace = ({ folder }: ExtensionPlace) => basename(folder) !== '.claude';

/** Hooks are in `settings.json` of `.claude`, as in Claude Code, and in `hooks.json` of our folders. */
async function findHooks(
  place: ExtensionPlace,
  warn: (problem: string) => void,
): Promise<readonly Hook[]> {
  const names =
    basename(place.folder) === '.claude'
      ? ['settings.json', 'settings.local.json']
      : ['hooks.json'];
  const usual = names.map((name) => ({ file: join(place.folder, name) }));
  const found: Hook[] = [];
  for (const one of place.plugin?.hooks ?? usual) {
    const { file, content: given, isForeign } = { content: undefined, isForeign: false, ...one };
    const content = given ?? (await readExtensionFile(file, place, warn));
    if (content !== undefined)
      found.push(...parseHookSettings(content, file, { ...place, isForeign }, warn));
  }
  return found;
}

type At = Pick<ExtensionPlace, 'root' | 'cwd' | 'rules'>;

/** The folders of a project, the nearest first. `.agents` has only skills. */
const projectFolders = ['.millrace', '.claude', '.agents'] as const;

async function projectPlaces(
  folders: readonly string[],
  env: Env,
  at: At,
): Promise<readonly ExtensionPlace[]> {
  const own = new Set((await userPlaces(env, at)).map(({ folder }) => folder));
  const yaml = projectYamlBudget();
  const all = folders.flatMap((parent) =>
    projectFolders.map(
      (name) => ({ folder: join(parent, name), parent, origin: 'project', yaml, ...at }) as const,
    ),
  );
  const found = await Promise.all(
    // In the home folder, `.claude` belongs to the user and is not part of a project.
    all.map(async (place) =>
      !own.has(place.folder) && (await isOwn(place.folder, at.cwd)) ? place : undefined,
    ),
  );
  return found.filter((place) => place !== undefined);
}

async function userPlaces(env: Env, at: At): Promise<readonly ExtensionPlace[]> {
  const home = homeOf(env);
  const config = userConfigFolder(env);
  const folders = [config, home && join(home, '.claude'), home && join(home, '.agents')];
  return folders.flatMap((folder) =>
    folder === undefined ? [] : [{ folder, parent: at.root, origin: 'user' as const, ...at }],
  );
}

function homeOf({ HOME, USERPROFILE }: Env): string | undefined {
  const home = HOME || USERPROFILE;
  return home && isAbsolute(home) ? home : undefined;
}

const instructionNames = ['CLAUDE.md', '.claude/CLAUDE.md', 'GEMINI.md', '.cursorrules'] as const;

/** Returns the instruction files of a project, from the repository root down to the folder. */
async function projectInstructions(
  folders: readonly string[],
  cwd: string,
): Promise<readonly InstructionFile[]> {
  const paths = folders
    .toReversed()
    .flatMap((folder) => instructionNames.map((name) => join(folder, name)));
  const own = await Promise.all(paths.map((path) => isOwn(path, cwd)));
  return paths.filter((_, index) => own[index]).map((path) => ({ path, origin: 'project' }));
}

function userInstructions(env: Env): readonly InstructionFile[] {
  const config = userConfigFolder(env);
  const home = homeOf(env);
  const paths = [
    ...(config === undefined ? [] : [join(config, 'AGENTS.md')]),
    ...(home === undefined ? [] : [join(home, '.claude', 'CLAUDE.md')]),
  ];
  return paths.map((path) => ({ path, origin: 'user' }));
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

/**
 * Returns the fingerprint of the files that the user trusts. It covers the hooks, their scripts, the code of
 * extensions, and the names of all files. It does not cover the text of skills, commands, sub-agents and
 * instructions, because these texts can do no more than AGENTS.md, and the user would be asked
 * after each edit.
 */
function fingerprintOf(found: Found, digest: string, root: string): string {
  const pathsOf = (all: readonly { readonly path: string }[]) =>
    all.map(({ path }) => relative(root, path)).toSorted();
  const hooks = found.hooks.map(({ projectFolder, file, ...hook }) => ({
    ...hook,
    file: relative(root, file),
  }));
  const { skills, commands, agents, instructions } = found;
  const texts = [skills, commands, agents, instructions].map(pathsOf);
  const code = found.modules.map(({ path, files = {} }) => [
    relative(root, path),
    Object.entries(files).map(([file, sum]) => [relative(root, file), sum]),
  ]);
  return createHash('sha256')
    .update(JSON.stringify([hooks, digest, texts, ...(code.length === 0 ? [] : [code])]))
    .digest('hex');
}
