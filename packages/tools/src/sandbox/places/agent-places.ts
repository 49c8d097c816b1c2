import { type Dirent, readdirSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { type PathFollower, pathFollower, pathForms } from '../../workspace/real-form.ts';

/** The places of the terminal agent, with and without links, as absolute paths. The paths may not exist. */
export interface AgentPlaces {
  /** Keys, settings with approvals, hooks, extensions, and sessions with all messages. */
  readonly secret: readonly string[];
  /** More files and folders from which the agent runs code. They contain no secrets. */
  readonly executed: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** The entries of other agents' folders in the home folder from which the agent runs hooks or takes texts. */
const sharedNames: readonly string[] = [
  ...['settings.json', 'settings.local.json', 'hooks', 'agents', 'commands', 'skills', 'plugins'],
  'CLAUDE.md',
].flatMap((name) => [`.claude/${name}`, `.agents/${name}`]);

/**
 * Returns the places of the terminal agent: the usual locations, and those that environment variables set. The
 * result includes the targets of links in these places, for example `~/dotfiles/hooks.json` for a link
 * `~/.config/millrace/hooks.json`.
 */
export function agentPlaces(env: Env, follow: PathFollower = pathFollower()): AgentPlaces {
  const set = [env['XDG_CONFIG_HOME'], env['XDG_DATA_HOME'], env['LOCALAPPDATA']];
  const homes = homeFolders(env);
  const usual = homes.flatMap((home) => [`${home}/.config`, `${home}/.local/share`]);
  const isUsable = (path: string | undefined): path is string =>
    path !== undefined && isAbsolute(path);
  const own = [...set, ...usual].filter(isUsable).map((folder) => `${folder}/millrace`);
  const shared = homes.flatMap((home) => sharedNames.map((name) => `${home}/${name}`));
  const formsOf = (paths: readonly string[]) => paths.flatMap((path) => pathForms(path, follow));
  const folders = [...own, ...shared].map((path) => follow(path).real);
  const linked = linkedEntries(new Set(folders), (path) => follow(path).real);
  return {
    secret: [...new Set([...formsOf(own), ...linked.secret])],
    executed: [...new Set([...formsOf(shared), ...linked.executed])],
  };
}

/**
 * Returns the home folders of the user. `HOME` can name another folder than the account of the user, and Node then
 * returns the folder of `HOME` as `homedir()`.
 */
export function homeFolders(env: Env): readonly string[] {
  accountHome ??= readAccountHome();
  return [...new Set([homedir(), env['HOME'] ?? '', accountHome])].filter((home) =>
    isAbsolute(home),
  );
}

/** Reading an account can take long, because some systems ask a server. */
let accountHome: string | undefined;

/** A container can run as a user without an account. */
function readAccountHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return '';
  }
}

/** Maximum number of entries that are searched for links: in all folders, and in one folder. */
const maxEntries = 2000;
const maxInFolder = 500;
/** Maximum number of levels of folders below a place. */
const maxDepth = 3;

/**
 * Returns the targets of the links in folders. It searches the upper folders first, also behind links. Texts
 * (`.md`) and folders with code contain no secrets.
 */
function linkedEntries(places: ReadonlySet<string>, realOf: (path: string) => string): AgentPlaces {
  const secret: string[] = [];
  const executed: string[] = [];
  const seen = new Set(places);
  const pending = [...places].map((folder) => ({ folder, depth: 1 }));
  let entries = 0;
  for (const { folder, depth } of pending) {
    const found = entriesOf(folder)?.slice(0, maxInFolder) ?? [];
    entries += found.length;
    if (entries > maxEntries) break;
    for (const entry of found) {
      const path = join(folder, entry.name);
      const isLink = entry.isSymbolicLink();
      if (!isLink && !entry.isDirectory()) continue;
      const real = isLink ? realOf(path) : path;
      const isFolder = !isLink || entriesOf(real) !== undefined;
      if (isLink) (isFolder || entry.name.endsWith('.md') ? executed : secret).push(real);
      if (!isFolder || depth >= maxDepth || seen.has(real)) continue;
      seen.add(real);
      pending.push({ folder: real, depth: depth + 1 });
    }
  }
  return { secret, executed };
}

/** Returns the entries of a folder. Undefined if the path is not a folder that can be listed. */
function entriesOf(folder: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return undefined;
  }
}
