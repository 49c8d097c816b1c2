import { existsSync, realpathSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { isBelow } from '../../workspace/match-path.ts';
import type { GitSetting } from '../read-git-settings.ts';

/** Maximum number of paths to check. The settings of a person usually have at most some hundred different words. */
const maxChecks = 2000;
/** Maximum number of places to return. */
const maxPrograms = 100;
/** Maximum number of characters of a setting, and of all settings together, to read. */
const [maxLength, maxCharacters] = [16_384, 262_144];
/** Maximum number of folders in a command in which its other words are searched. */
const maxFolders = 4;

/**
 * Returns the existing files in the workspace that commands in settings of git name, as absolute paths. These are
 * programs, files in their arguments, and folders with hooks. A relative path refers to each of the folders, and to
 * folders that the command names, as in `cd tools && ./clean.sh`. The root must be a real path.
 *
 * The function does not know how a program uses its arguments, so each word counts that is the path of a file. Files that
 * a program loads by itself are not returned.
 */
export function programsOfSettings(
  settings: readonly GitSetting[],
  folders: ReadonlySet<string>,
  root: string,
): ReadonlySet<string> {
  const found = new Set<string>();
  // Many commands contain the same words.
  const checked = new Map<string, FoundPlaces>();
  const check = (base: string, path: string) => {
    const key = `${base}\0${path}`;
    const known = checked.get(key) ?? placesAt(base, path, root);
    checked.set(key, known);
    return known;
  };
  let left = maxCharacters;
  for (const setting of settings) {
    const named = new Set<string>();
    const paths = pathsOf(setting);
    if (paths.length > 0) left -= Math.min(setting.value.length, maxLength);
    if (left < 0) return found;
    // A hostile setting can repeat a word thousands of times.
    const unique = new Map(paths.map((one) => [`${one.isProgram} ${one.path}`, one]));
    for (const { path, isProgram } of unique.values()) {
      // Without a slash, the shell searches a program in PATH, and not in its folder.
      const isSearched = isProgram && !path.includes('/');
      for (const base of new Set([...(isSearched ? [] : folders), ...named])) {
        if (checked.size >= maxChecks || found.size >= maxPrograms) return found;
        const { places, isFolder, hasHooks } = check(base, path);
        if (isFolder && named.size < maxFolders) for (const place of places) named.add(place);
        if (!isFolder || hasHooks) for (const place of places) found.add(place);
      }
    }
  }
  return found;
}

/** The settings whose value is a command or the path of a program. Subsections are omitted. */
const commandSettings: ReadonlySet<string> = new Set(
  `core.fsmonitor core.sshcommand core.editor core.pager core.askpass core.gitproxy core.alternaterefscommand
  filter.clean filter.smudge filter.process diff.command diff.textconv diff.external merge.driver
  difftool.cmd difftool.path mergetool.cmd mergetool.path guitool.cmd man.cmd man.path browser.cmd browser.path
  sequence.editor gpg.program gpg.defaultkeycommand credential.helper interactive.difffilter
  uploadpack.packobjectshook remote.uploadpack remote.receivepack trailer.command trailer.cmd tar.command
  hook.command sendemail.sendmailcmd sendemail.tocmd sendemail.cccmd sendemail.headercmd sendemail.smtpserver
  gc.recentobjectshook instaweb.httpd instaweb.browser web.browser core.virtualfilesystem
  imap.tunnel lfs.path lfs.args lfs.clean lfs.smudge`.split(/\s+/),
);

interface NamedPath {
  readonly path: string;
  /** True if the path is the first word of a command. */
  readonly isProgram: boolean;
}

/** Maximum number of commands whose words are kept, and maximum number of characters of such a command. */
const maxKept = { commands: 500, length: 1000 } as const;
/** The words of commands. All repositories of a workspace share the settings of the user. */
const kept = new Map<string, readonly NamedPath[]>();

/** Returns the words of a setting that can be paths. */
function pathsOf({ section, key, value }: GitSetting): readonly NamedPath[] {
  if (section === 'core' && key === 'attributesfile') return whole(value);
  if (section === 'init' && key === 'templatedir') return whole(join(value, 'hooks'));
  const isCommand =
    section === 'alias' || (section === 'submodule' && key === 'update')
      ? value.startsWith('!')
      : section === 'pager' || commandSettings.has(`${section}.${key}`);
  if (!isCommand) return [];
  const name = `${homedir()}\0${value}`;
  const known = kept.get(name);
  if (known !== undefined) return known;
  const paths = pathsInCommand(value.slice(0, maxLength));
  if (kept.size >= maxKept.commands) kept.clear();
  if (value.length <= maxKept.length) kept.set(name, paths);
  return paths;
}

function pathsInCommand(value: string): readonly NamedPath[] {
  // Git does not split the value of some settings into words, for example of `gpg.program`.
  const path = value.includes('/') ? whole(value) : [];
  return [...path, ...wordsOf(value.replace(/^!/, '')).flatMap(pathsInWord)];
}

function whole(path: string): readonly NamedPath[] {
  return [{ path: inHome(path), isProgram: false }];
}

function inHome(path: string): string {
  return path.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/)/, () => homedir());
}

interface Word {
  readonly text: string;
  /** The role of the word. A `harmless` word counts only if it contains a slash or `=`. */
  readonly role: 'program' | 'argument' | 'harmless';
}

/**
 * Programs in usual settings whose arguments are the names of their own commands, such as `clean` in `git-lfs clean`.
 * A file of that name in the workspace has nothing to do with them.
 */
const withOwnCommands: ReadonlySet<string> = new Set(['git', 'git-lfs', 'gh', 'glab', 'echo']);

/** Words of git before which a command can begin. */
const beforeProgram =
  /^(?:run|foreach|--exec|-x|--(?:tree|env|index|msg|commit|tag-name|parent)-filter)$/;

/** Words of the shell before which a command can begin. */
const shellWords: ReadonlySet<string> = new Set(
  '{ } ! if then elif else while until do exec command env'.split(' '),
);

/** Maximum depth of commands in quoted words, such as `sh -c "sh -c '…'"`. */
const maxDepth = 3;

/** Splits a command into words as a shell does. For a word in quotes, the words in it are returned too. */
function wordsOf(line: string, depth = 0): readonly Word[] {
  const words: Word[] = [];
  let program: string | undefined;
  let text: string | undefined;
  let quote = '';
  const endWord = () => {
    if (text === undefined || shellWords.has(text)) {
      text = undefined;
      return;
    }
    const isFirst = program === undefined && !/^\w+=/.test(text);
    const isHarmless = program !== undefined && withOwnCommands.has(program);
    words.push({ text, role: isFirst ? 'program' : isHarmless ? 'harmless' : 'argument' });
    if (isFirst) program = basename(text);
    // The next word is a program, as in `git bisect run ./check`.
    if (program === 'git' && beforeProgram.test(text)) program = undefined;
    if (depth < maxDepth && /[\s;&|()`]/.test(text)) words.push(...wordsOf(text, depth + 1));
    text = undefined;
  };
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) {
      quote = char;
      text ??= '';
    } else if (char === '\\' && quote !== "'") text = (text ?? '') + line.charAt(++at);
    else if (quote === '' && /[\s;&|()<>`]/.test(char)) {
      endWord();
      if (/[\n;&|()`]/.test(char)) program = undefined;
      // The output of the command before this sign can be the start of a path.
      if (/[)`]/.test(char)) text = /^[/\w.-]/.test(line.slice(at + 1)) ? unknown : undefined;
    } else text = (text ?? '') + char;
  }
  endWord();
  return words;
}

/** Stands for a part of a word that is not known. */
const unknown = '$';

/** Maximum number of paths in a word to check. */
const maxParts = 50;

/** Returns the paths in a word such as `tools/a`, `--script=tools/a`, `PATH=tools:$PATH` or `$PWD/tools/a`. */
function pathsInWord({ text, role }: Word): readonly NamedPath[] {
  const parts = [text, ...(/[=:,]/.test(text) ? text.split(/[=:,]/, maxParts) : [])];
  const paths = parts.flatMap((part) => {
    const plain = inHome(part.replace(/^[!@]+/, ''));
    // The value of a short option can follow without a space, as in `-ftools/run`.
    if (!/[$*`]/.test(plain))
      return /^-[a-zA-Z]+\w/.test(plain) ? [plain, ...endsOf(plain)] : [plain];
    // The start of the path is not known, so each of its ends counts.
    const names = plain.split('/').slice(-maxParts);
    return names.map((_, index) => names.slice(index).join('/'));
  });
  return paths
    .filter(
      (path) =>
        !/^-[^=/]*$/.test(path) && /[^./]/.test(path) && (role !== 'harmless' || /[/=]/.test(text)),
    )
    .map((path) => ({ path, isProgram: role === 'program' }));
}

/** Maximum number of letters of short options in one word. */
const maxLetters = 4;

function endsOf(word: string): readonly string[] {
  return Array.from({ length: maxLetters }, (_, letters) => word.slice(letters + 2));
}

interface FoundPlaces {
  readonly places: readonly string[];
  readonly isFolder: boolean;
  /** True for a folder with a hook of git. */
  readonly hasHooks: boolean;
}

const nothing: FoundPlaces = { places: [], isFolder: false, hasHooks: false };

/** Returns the path itself, and the path without links, if it leads to a file or folder below the root. */
function placesAt(base: string, path: string, root: string): FoundPlaces {
  // The kernel follows a link before `..`, so the path is used as it is written.
  const written = path.startsWith('/') ? path : `${base}/${path}`;
  const entry = entryBehind(written);
  const real = entry && realPathOf(written);
  if (entry === undefined || real === undefined) return nothing;
  const plain = resolve(written);
  const isFolder = entry.isDirectory();
  const hasPlace = isBelow(root, real) || (entry.isFile() && isBelow(root, plain));
  if (!hasPlace || !(isFolder || entry.isFile())) return nothing;
  const places = [plain, real].filter((one) => one === real || realPathOf(one) === real);
  // The sandbox follows a link outside of the workspace, but a folder can only be guarded inside.
  const inside = isFolder ? places.filter((one) => isBelow(root, one)) : places;
  // A folder can have many files, so it is not listed.
  const hasHooks = isFolder && hookNames.some((name) => existsSync(join(real, name)));
  return { places: inside, isFolder, hasHooks };
}

function entryBehind(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // The path is too long, or this user cannot enter its folder.
    return undefined;
  }
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

const hookNames: readonly string[] =
  `applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
  post-commit pre-rebase post-checkout post-merge pre-push pre-receive proc-receive post-receive post-update
  reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman
  post-index-change update`.split(/\s+/);
