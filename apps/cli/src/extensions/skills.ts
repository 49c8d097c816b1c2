import type { Dirent } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { defineTool, type Tool } from '@millrace/agent';
import { z } from 'zod';
import { isInside } from '../config/config-paths.ts';
import type { Skill } from '../contract/extensions.ts';
import { readFileSafely } from '../safe-files.ts';
import {
  type ExtensionPlace,
  entriesOf,
  listFiles,
  maxFiles,
  readExtensionFile,
} from './extension-files.ts';
import { lineOf, parseMarkdownFile } from './front-matter.ts';

const maxNameLength = 64;
const maxDescriptionLength = 1024;

const skillName = /^[\w-][\w.:-]*$/;

/** Finds the skills of a place: each folder in `skills` that has a SKILL.md. */
export async function findSkills(
  place: ExtensionPlace,
  warn: (problem: string) => void,
): Promise<readonly Skill[]> {
  const { plugin } = place;
  const found: Skill[] = [];
  for (const folder of await skillFolders(place, warn)) {
    const path = join(folder, 'SKILL.md');
    const content = await readExtensionFile(path, place, warn);
    const realPath = await realpath(path).catch(() => undefined);
    if (content === undefined || realPath === undefined) continue;
    const { fields, text } = await parseMarkdownFile(content, place.yaml);
    // Some skills have a title with spaces as their name.
    const given = lineOf(fields['name'], maxNameLength);
    const name = given !== undefined && skillName.test(given) ? given : basename(folder);
    const [firstLine = ''] = text.replace(/^#+\s*/, '').split('\n');
    const description =
      lineOf(fields['description'], maxDescriptionLength) ??
      lineOf(firstLine, maxDescriptionLength);
    if (!skillName.test(name) || description === undefined) {
      warn(
        `${path} is not used: a skill needs a name of letters, digits and "-", and a description.`,
      );
      continue;
    }
    found.push({
      ...{ name, description, path, realPath, origin: place.origin, root: place.root },
      isForModel: fields['disable-model-invocation'] !== true,
      isForUser: fields['user-invocable'] !== false,
      ...(plugin && { plugin: plugin.name, pluginFolder: plugin.folder }),
    });
  }
  return found;
}

/** Returns the folders of a place that can be skills. A plugin can also name the folder of a single skill. */
async function skillFolders(
  { folder: place, origin, plugin }: ExtensionPlace,
  warn: (problem: string) => void,
): Promise<readonly string[]> {
  const isFolder = (entry: Dirent) =>
    !entry.isFile() && !(entry.isSymbolicLink() && origin === 'project');
  const folders: string[] = [];
  for (const folder of plugin?.skills ?? [join(place, 'skills')]) {
    const entries = await entriesOf(folder);
    const isSkill = entries.some(({ name }) => name === 'SKILL.md');
    const inside = entries.filter(isFolder).map(({ name }) => join(folder, name));
    if (!isSkill && inside.length > maxFiles)
      warn(`${folder} has ${inside.length} folders. Only the first ${maxFiles} are used.`);
    folders.push(...(isSkill ? [folder] : inside.slice(0, maxFiles)));
  }
  return [...new Set(folders)];
}

/** Maximum length of the list of skills in the system prompt. */
const maxListLength = 12_000;
const maxLineLength = 300;

/**
 * Returns the list of skills for the system prompt. It contains only names and descriptions. A list
 * that is too long is cut, and the model sees how many skills are missing. Returns an empty text if
 * the model can load no skill.
 */
export function skillsPrompt(skills: readonly Skill[]): string {
  const offered = skills.filter(({ isForModel }) => isForModel);
  if (offered.length === 0) return '';
  const lines: string[] = [];
  let length = 0;
  for (const { name, description } of offered) {
    const line = lineOf(`- ${name}: ${description}`, maxLineLength) ?? '';
    length += line.length + 1;
    if (length > maxListLength) break;
    lines.push(line);
  }
  const missing = offered.length - lines.length;
  const rest = missing === 0 ? '' : `\n(${missing} more skills are not listed.)`;
  return `Skills: instructions for special tasks. When a task fits one of them, load it with the tool skill before you start.\n${lines.join('\n')}${rest}`;
}

const maxListedFiles = 50;
const maxReadBytes = 256 * 1024;

/** Returns true if a rule of the user denies reading a path, or asks about it. The tool `skill` asks nobody. */
type IsRefused = (path: string) => boolean;

/**
 * Creates the tool with which the model loads a skill or one of its files. It reads only inside of
 * the folder of a skill, and no file that looks like a secret, so it needs no approval.
 */
export function skillTool(skills: readonly Skill[], isRefused: IsRefused): Tool {
  const offered = skills.filter(({ isForModel }) => isForModel);
  return defineTool({
    name: 'skill',
    description:
      'Loads a skill: its instructions and the list of its files. With file, loads that file of the skill.',
    input: z.object({
      name: z
        .string()
        .max(2 * maxNameLength + 1)
        .describe('The name of the skill'),
      file: z.string().max(1000).optional().describe('A file of the skill, relative to its folder'),
    }),
    effects: 'none',
    summarize: ({ name, file }) => (file === undefined ? name : `${name}: ${file}`),
    execute: async ({ name, file }) => {
      const skill =
        offered.find((one) => one.name === name || fullName(one) === name) ??
        offered.find(({ path }) => basename(dirname(path)) === name);
      if (skill === undefined) throw new Error(`There is no skill ${name}`);
      return file === undefined ? skillText(skill) : readSkillFile(skill, file, isRefused);
    },
  });
}

/** Returns the name of a skill with the name of its plugin, as texts of plugins write it. */
function fullName({ plugin, name }: Skill): string {
  return plugin === undefined ? name : `${plugin}:${name}`;
}

/** Returns the text of a skill for the model, with the list of its files. */
export async function skillText(skill: Skill, argument = ''): Promise<string> {
  const { name, path, realPath, origin } = skill;
  const { real, bytes, isClipped } = await readFile(skill, path);
  if (real !== realPath) throw new Error(`${path} is not used: ${movedReason}`);
  if (isClipped) throw new Error(`${path} is not used: it is larger than ${maxReadBytes} bytes`);
  const { text: written } = await parseMarkdownFile(new TextDecoder().decode(bytes));
  const folder = dirname(path);
  const text = withFolders(written, { folder, plugin: skill.pluginFolder });
  const files = (await listFiles(folder, origin, () => true))
    .map((file) => relative(folder, file))
    .filter((file) => file !== 'SKILL.md');
  const shown = files.slice(0, maxListedFiles).map((file) => `- ${file}`);
  const more = files.length > shown.length ? `\n- and ${files.length - shown.length} more` : '';
  const list =
    files.length === 0
      ? ''
      : `\n\nFiles of the skill (load one with the tool skill):\n${shown.join('\n')}${more}`;
  const asked = argument === '' ? '' : `\n\nARGUMENTS: ${argument}`;
  const filled = text.replaceAll('$ARGUMENTS', () => argument);
  const body = filled === text ? `${text}${asked}` : filled;
  return `Skill ${name}, in the folder ${folder}:\n\n${body}${list}`;
}

/** Replaces the variables for folders, because the model cannot read variables. */
function withFolders(
  text: string,
  { folder, plugin }: { readonly folder: string; readonly plugin?: string | undefined },
): string {
  const own = text.replaceAll(/\$\{CLAUDE_SKILL_DIR\}/g, () => folder);
  return plugin === undefined ? own : own.replaceAll(/\$\{CLAUDE_PLUGIN_ROOT\}/g, () => plugin);
}

const movedReason = 'it leads to a different file than at the start of the session';

async function readSkillFile(skill: Skill, file: string, isRefused: IsRefused): Promise<string> {
  const { name, path, folder } = { ...skill, folder: dirname(skill.realPath) };
  const { real, bytes, isClipped } = await readFile(skill, join(dirname(path), file));
  const inside = relative(folder, real).toLowerCase().split(sep);
  if (!isInside(real, folder) || inside.includes('.git') || isRefused(real))
    throw new Error(`${file} is not a file of the skill ${name}. Use read for other files`);
  if (bytes.includes(0)) throw new Error(`${file} is not a text file. Its path is ${real}`);
  const text = new TextDecoder().decode(bytes);
  return isClipped ? `${text}\n(The file goes on.)` : text;
}

interface ReadFile {
  readonly real: string;
  readonly bytes: Uint8Array;
  readonly isClipped: boolean;
}

/**
 * Reads the start of a file of a skill, and returns the real path of the file that it read. A command of the
 * agent can replace a file or a folder of the project with a link at any time. A workspace follows
 * no link out of the repository, even if the link appears while the file is opened.
 */
async function readFile({ root, origin, realPath }: Skill, path: string): Promise<ReadFile> {
  // The module is loaded on demand, because most projects have no skills.
  const { createWorkspace, permissionPolicy } = await import('@millrace/tools');
  const checkSecret = (real: string, folder: string) => {
    if (!permissionPolicy({ root: folder }).mayRead({ path: real, kind: 'read' }))
      throw new Error(`${path} is not used: it looks like a secret. Use read for this file`);
  };
  if (origin === 'user') {
    const real = await realpath(path);
    // The policy checks only names inside the skill's folder. Folders above it, such as `.config`, could look
    // like secrets.
    checkSecret(real, dirname(realPath));
    return { real, ...(await readFileSafely(real, { maxBytes: maxReadBytes, clip: true })) };
  }
  const { place, handle, stats } = await createWorkspace({ root }).open(path);
  try {
    checkSecret(place.real, root);
    const buffer = Buffer.alloc(Math.min(stats.size, maxReadBytes));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    const isClipped = stats.size > maxReadBytes;
    return { real: place.real, bytes: buffer.subarray(0, bytesRead), isClipped };
  } finally {
    await handle.close();
  }
}
