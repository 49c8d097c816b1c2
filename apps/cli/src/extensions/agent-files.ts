import { basename, join } from 'node:path';
import type { AgentFile } from '../contract/extensions.ts';
import {
  type ExtensionPlace,
  listMarkdown,
  readExtensionFile,
  withPluginFolder,
} from './extension-files.ts';
import { lineOf, listOf, parseMarkdownFile } from './front-matter.ts';
import { ownToolName } from './tool-names.ts';

const maxDescriptionLength = 600;

/** The names of the built-in sub-agents. A file cannot replace them. */
const reservedNames: ReadonlySet<string> = new Set(['explore', 'worker']);
/** Tools that sub-agents never have: they cannot start agents or ask the user. */
const neverTools: ReadonlySet<string> = new Set(['task', 'ask_user']);
/** Model names that mean a size of a vendor's model. The main model is used instead. */
const modelSizes = /^(?:inherit|default|sonnet|opus|haiku|fable)(?:\[1m\])?$/i;

const agentName = /^[\w-]+$/;

/** Finds the sub-agents of a place: the Markdown files below `agents`. */
export async function findAgentFiles(
  place: ExtensionPlace,
  warn: (problem: string) => void,
): Promise<readonly AgentFile[]> {
  const { origin, plugin } = place;
  const folders = plugin?.agents ?? [join(place.folder, 'agents')];
  const found: AgentFile[] = [];
  for (const path of await listMarkdown(folders, origin)) {
    const content = await readExtensionFile(path, place, warn);
    if (content === undefined) continue;
    const { fields, text: written } = await parseMarkdownFile(content, place.yaml);
    const text = withPluginFolder(written, plugin);
    // Some sub-agents have a title with spaces as their name.
    const given = lineOf(fields['name'], 64);
    const name = given !== undefined && agentName.test(given) ? given : basename(path, '.md');
    const description = lineOf(unescaped(fields['description']), maxDescriptionLength);
    const isNamed = agentName.test(name) && !reservedNames.has(name);
    if (!isNamed || description === undefined || text === '') {
      warn(
        `${path} is not a sub-agent: it needs a free name of letters, digits and "-", a description and a text.`,
      );
      continue;
    }
    const tools = listOf(fields['tools'])?.map(ownToolName);
    const model = lineOf(fields['model'], 200);
    found.push({
      ...{ name, description, origin, path, text },
      ...(tools !== undefined && tools[0] !== '*' && { tools: usable(tools) }),
      ...(lineOf(fields['isolation'], 64) === 'worktree' && { isIsolated: true }),
      ...(model !== undefined && !modelSizes.test(model) && { model }),
    });
  }
  return found;
}

function usable(tools: readonly string[]): readonly string[] {
  return [...new Set(tools)].filter((tool) => !neverTools.has(tool));
}

/**
 * Replaces `\n` in a text by a space. Some published descriptions contain `\n` as two characters.
 */
function unescaped(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\\n', ' ') : value;
}
