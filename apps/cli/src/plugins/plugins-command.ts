import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { safeEnv } from '@millrace/tools';
import { commandHint } from '../args/command-hint.ts';
import { askYesNo } from '../command/ask-user.ts';
import { hasTerminal } from '../command/without-terminal.ts';
import { isInside } from '../config/config-paths.ts';
import { envOutsideProject } from '../config/server-place.ts';
import type { PluginsArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Env, Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { parseHookSettings } from '../extensions/hook-settings.ts';
import { makeFolder } from '../make-folder.ts';
import { countOf } from '../print/text-table.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { type PluginLayout, readPluginLayout } from './plugin-layout.ts';
import {
  digestOf,
  isUnchanged,
  type PluginFile,
  pluginsFolder,
  readFiles,
  readPlugins,
  removePlugin,
  storePlugin,
} from './plugin-store.ts';

const run = promisify(execFile);

/** Runs `millrace plugins`: lists, adds and removes plugins. */
export async function pluginsCommand(args: PluginsArgs, host: Host): Promise<number> {
  const { env, stdout } = host;
  switch (args.action) {
    case 'list': {
      const plugins = await readPlugins(env);
      const lines = await Promise.all(
        plugins.map(async (plugin) => {
          const { name, source } = plugin;
          const problem = (await isUnchanged(env, plugin))
            ? ''
            : `  not used: its files have changed since you trusted it. To trust them again: ${commandHint({}, 'plugins add', source)}`;
          return `${name}  ${source}${problem}\n`;
        }),
      );
      writeText(stdout, lines.join('') || 'There are no plugins.\n');
      return exitCodes.done;
    }
    case 'remove':
      if (!(await removePlugin(env, args.operand)))
        throw new UsageError(`There is no plugin ${args.operand}. millrace plugins lists them`);
      writeText(stdout, `Removed the plugin ${args.operand}.\n`);
      return exitCodes.done;
    case 'add':
      return addPlugin(args, host);
  }
}

async function addPlugin({ operand, yes }: PluginsArgs, host: Host): Promise<number> {
  const { env, stdout, cwd } = host;
  // A name is always a package. Otherwise a folder of an untrusted project could replace a known package.
  const isFolder = /^(?:\.{0,2}[/\\]|[a-z]:[/\\]|\.{1,2}$)/i.test(operand);
  const source = isFolder ? await folderSource(resolve(cwd, operand)) : operand;
  const fetched = isFolder
    ? { folder: source, id: undefined, integrity: undefined }
    : await fetchPackage(source, host);
  try {
    const files = await readFiles(fetched.folder);
    const usual = nameOf(isFolder ? basename(source) : packageName(source));
    const layout = await readPluginLayout(fetched.folder, usual);
    const { name } = layout;
    const used = usedFiles(layout, files);
    if (used.length === 0) throw notPlugin(operand, files);
    const content = `${shownFiles(used, layout)}${shownHooks(layout, files)}`;
    if (!yes) {
      if (!hasTerminal(host))
        throw new UsageError('Without a terminal, millrace plugins add needs --yes');
      const earlier = (await readPlugins(env)).find((one) => one.name === name);
      const replaces = earlier
        ? `It replaces the plugin from ${revealHidden(earlier.source)}.\n`
        : '';
      const question = `The plugin ${name} comes from ${originOf(source, fetched)}.\n${replaces}It has these files:\n${content}Its hooks and extensions run with all your rights, in every project. Add it?`;
      const isWanted = await askYesNo(host, question);
      if (isWanted !== true) return exitCodes.aborted;
    }
    const { integrity } = fetched;
    const plugin = { name, source, digest: digestOf(files), ...(integrity && { integrity }) };
    await storePlugin(env, plugin, files);
    writeText(stdout, `Added the plugin ${name}, with ${countOf(used.length, 'file')}.\n`);
    return exitCodes.done;
  } finally {
    if (!isFolder) await rm(resolve(fetched.folder, '..'), { recursive: true, force: true });
  }
}

/** Returns the files that the program reads as parts of the plugin. Their scripts can be elsewhere in its folder. */
function usedFiles(layout: PluginLayout, files: readonly PluginFile[]): readonly string[] {
  const { folder, skills, commands, agents } = layout;
  const places = [...skills, ...commands, ...agents];
  const isText = (path: string) => places.some((place) => isInside(resolve(folder, path), place));
  return files.map(({ path }) => path).filter((path) => isText(path) || isCode(path, layout));
}

/** True for a file that runs programs: an extension, or a file with hooks. A manifest can give it any name. */
function isCode(path: string, { folder, hooks }: PluginLayout): boolean {
  if (/^extensions\/|^\.claude-plugin\/plugin\.json$/.test(path)) return true;
  return hooks.some(({ file }) => file === resolve(folder, path));
}

const maxShownTexts = 200;

/** Returns the list of files. It contains all files that run programs, and a part of the other files. */
function shownFiles(used: readonly string[], layout: PluginLayout): string {
  const code = used.filter((path) => isCode(path, layout));
  const texts = used.filter((path) => !isCode(path, layout));
  const lines = [...code, ...texts.slice(0, maxShownTexts)].map((path) => `  - ${shown(path)}\n`);
  const more = texts.length - maxShownTexts;
  return [...lines, ...(more > 0 ? [`  - and ${countOf(more, 'further file')}\n`] : [])].join('');
}

/** Returns the list of the commands that the hooks of the plugin run. */
function shownHooks(layout: PluginLayout, files: readonly PluginFile[]): string {
  const { folder } = layout;
  const place = { origin: 'user', parent: folder, plugin: layout } as const;
  const hooks = layout.hooks.flatMap(({ file, content, isForeign }) => {
    const text =
      content ?? files.find(({ path }) => resolve(folder, path) === file)?.bytes.toString();
    if (text === undefined) return [];
    return parseHookSettings(text, file, { ...place, isForeign }, () => {});
  });
  if (hooks.length === 0) return '';
  const lines = hooks.map(({ event, command }) => `  - ${event}: ${shown(command)}\n`);
  return `Its hooks run these commands:\n${lines.join('')}`;
}

/** Returns a text of the plugin in one line, so that the text cannot look like a line of the question. */
function shown(text: string): string {
  return revealHidden(text).replaceAll('\n', '␊');
}

/** A repository can list several plugins. Each of them is a folder. */
function notPlugin(operand: string, files: readonly PluginFile[]): UsageError {
  const list = files.find(({ path }) => path === '.claude-plugin/marketplace.json');
  const folders = list === undefined ? [] : marketFolders(list.bytes.toString());
  const [first] = folders;
  if (first === undefined)
    return new UsageError(
      `${operand} is not a plugin: it has no folder skills, commands, agents or extensions, and no hooks.json`,
    );
  const names = folders.map(shown).join(', ');
  return new UsageError(
    `${operand} is a list of plugins. Add one of its folders, such as ${join(operand, shown(first))}. It has: ${names}`,
  );
}

function marketFolders(text: string): readonly string[] {
  try {
    const { plugins } = JSON.parse(text) as { readonly plugins?: unknown };
    const sources = (Array.isArray(plugins) ? plugins : []).map((one) => one?.source);
    return sources.filter((one) => typeof one === 'string' && one.startsWith('./')).slice(0, 100);
  } catch {
    return [];
  }
}

/** Describes where the files of a plugin come from. */
function originOf(source: string, { id, integrity }: Fetched): string {
  if (id === undefined) return `the folder ${shown(source)}`;
  const checked = integrity === undefined ? '' : ` (${revealHidden(integrity)})`;
  return `the npm package ${revealHidden(id)}${checked}`;
}

async function folderSource(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) throw new UsageError(`${path} is not a folder`);
  return realpath(path);
}

/** Returns the name of a package without its version: `@acme/tools` of `@acme/tools@1.2.0`. */
function packageName(spec: string): string {
  return spec.replace(/(?<=.)@[^@/]*$/, '');
}

function nameOf(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  if (name === '') throw new UsageError('The name of a plugin needs a letter or a digit');
  return name.slice(0, 64);
}

interface Fetched {
  readonly folder: string;
  /** The name and the version of the package. Undefined for a folder. */
  readonly id: string | undefined;
  readonly integrity: string | undefined;
}

/**
 * Downloads a package of npm and unpacks it. No script of the package runs. Packages that it depends on are not
 * installed.
 */
async function fetchPackage(spec: string, { env, cwd, signal }: Host): Promise<Fetched> {
  if (!/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~-]+)?$/i.test(spec))
    throw new UsageError(`${spec} is neither a folder nor the name of a package`);
  // npm runs in a folder that only this user can write to. npm also reads the settings of the folders above
  // its own, and any user of the machine can create files in a shared folder such as /tmp.
  const own = pluginsFolder(env);
  makeFolder(own);
  const place = await mkdtemp(join(own, '.fetch-'));
  try {
    // npm reads the project settings of the first folder that has this file.
    await writeFile(join(place, 'package.json'), '{}');
    const flags = ['--ignore-scripts', '--json', '--workspaces=false', '--pack-destination', place];
    // A project cannot provide the program `npm`, and its settings do not apply in this folder.
    const outside = npmEnv(await envOutsideProject(env, cwd));
    const options = { cwd: place, env: outside, signal, timeout: 120_000 };
    const { stdout } = await run('npm', ['pack', spec, ...flags], options);
    const [packed] = JSON.parse(stdout) as readonly Packed[];
    if (packed === undefined) throw new Error('npm returned no package');
    await run('tar', ['-xzf', join(place, basename(packed.filename)), '-C', place], options);
    const { id = spec, integrity } = packed;
    const folder = join(place, 'package');
    // The archive could contain a link to a folder of the user.
    if (!(await lstat(folder)).isDirectory()) throw new Error('the package is not a folder');
    return { folder, id, integrity };
  } catch (cause) {
    await rm(place, { recursive: true, force: true });
    throw notFetched(spec, cause, existsSync(resolve(cwd, spec)));
  }
}

/** The part of the output of `npm pack --json` that is used. */
interface Packed {
  readonly id?: string | undefined;
  readonly filename: string;
  readonly integrity?: string | undefined;
}

/** Returns the environment for npm. It has no API keys, but the settings and the tokens of npm. */
function npmEnv(env: Env): Record<string, string> {
  const isOfNpm = (name: string) => /^npm_(?:config_|token$)|^node_auth_token$/i.test(name);
  return safeEnv(env, { allow: Object.keys(env).filter(isOfNpm) });
}

function notFetched(spec: string, cause: unknown, isFolderToo: boolean): UsageError {
  const way = isFolderToo
    ? `To add the folder of this name, write ./${spec}`
    : 'Check its name and the network';
  return new UsageError(`Cannot fetch the package ${spec} with npm. ${way}`, {}, { cause });
}
