import { editDistance, nearestNames } from '@millrace/core';
import { ruleToText } from '../config/rule-text.ts';
import type { BuildOptions } from '../contract/agent.ts';
import { ConfigError } from '../contract/errors.ts';
import { toolNames } from '../extensions/tool-names.ts';
import { toolPrefix } from './mcp-servers.ts';

/**
 * Finds rules that deny or ask for a tool that does not exist. Such a rule protects nothing. Returns a message for
 * each of them. Throws a `ConfigError` if the name differs from the name of a tool of the agent in one character.
 *
 * A name with a wildcard is not checked. A name with an underscore can belong to an MCP server of another project,
 * so only a name that is similar to a tool of the agent is reported.
 */
export function findUnknownTools({
  config: { permissions, mcpServers },
  extensions,
}: Pick<BuildOptions, 'config' | 'extensions'>): readonly string[] {
  const ofExtensions = extensions?.code?.tools ?? [];
  const known = new Set([...toolNames, ...ofExtensions.map(({ name }) => name)]);
  // The servers connect later.
  const isRemote = (tool: string) =>
    mcpServers.some(({ name }) => tool.startsWith(`${toolPrefix(name)}_`));
  const problems = permissions.rules.flatMap((rule) => {
    const { tool: name = '*', decision } = rule;
    if (decision === 'allow' || !/^[\w.+-]+$/.test(name)) return [];
    if (known.has(name) || isRemote(name)) return [];
    const isNear = (distance: number) => distance <= 2;
    const [near] = nearestNames(name, toolNames, { most: 1, isNear });
    if (near === undefined && name.includes('_')) return [];
    const way =
      near === undefined ? `The tools are ${listed([...known])}` : `Did you mean ${near}?`;
    const what = `there is no tool ${name}, so the rule protects nothing. ${way}`;
    const text = `the rule ${JSON.stringify(ruleToText(rule))} (${decision})`;
    if (near !== undefined && editDistance(name.toLowerCase(), near) <= 1)
      throw new ConfigError(`Cannot use ${text}: ${what}`, { name: 'permissions' });
    return [`T${text.slice(1)} has no effect: ${what}`];
  });
  return [...new Set(problems)];
}

const maxListed = 20;

function listed(names: readonly string[]): string {
  const more = names.length > maxListed ? ' and others' : '';
  return `${names.slice(0, maxListed).join(', ')}${more}`;
}
