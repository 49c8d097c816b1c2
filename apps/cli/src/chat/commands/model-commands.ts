import { cachedPercent } from '@millrace/core';
import { chooseModel } from '../../models/choose-model.ts';
import { type KnownModel, knownModels } from '../../models/known-models.ts';
import { oneLine } from '../../text/cells/printable.ts';
import { note } from '../contract/block.ts';
import type { UsageStats } from '../contract/chat-state.ts';
import { formatCount, formatMoney, formatTokens } from '../render/format-amounts.ts';
import { childUsage, ownUsage, sessionUsage } from '../state/usage-stats.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

export const model: SlashCommand = {
  name: '/model',
  argument: '[name]',
  description: 'Switch to another model',
  async run(context, argument) {
    if (argument !== '') return switchToModel(context, argument);
    const { env, config, clock } = context;
    const known = await knownModels(env, config, { clock });
    context.pick({
      title: `Which model? Current: ${context.built.chosen.label}`,
      items: known.map((one) => ({ label: one.name, detail: aboutModel(one) })),
      onPick: async (index) => {
        const name = known[index]?.name;
        if (name !== undefined) await switchToModel(context, name);
      },
    });
  },
};

function aboutModel({ from, contextTokens }: KnownModel): string {
  return contextTokens === undefined
    ? from
    : `${from}, ${formatTokens(contextTokens)} tokens of context`;
}

async function switchToModel(context: CommandContext, name: string): Promise<void> {
  const { config, env, cwd, clock } = context;
  const chosen = await chooseModel({ config: { ...config, model: name }, env, cwd, clock });
  context.switchModel(chosen);
  context.print(note('dim', chosen.why));
}

export const tools: SlashCommand = {
  name: '/tools',
  description: 'List the tools of the model',
  run({ built, print }) {
    const rows = built.tools.map(({ name, description }) => {
      const [first = ''] = description.split('\n');
      return [name, first] as const;
    });
    print({ type: 'rows', rows });
  },
};

/**
 * Returns one line of usage for the main agent and for each sub-agent. Returns no lines if there
 * was no sub-agent.
 */
function sharesOf(stats: UsageStats): readonly string[] {
  const children = childUsage(stats);
  if (children.length === 0) return [];
  return [{ agent: 'main agent', usage: ownUsage(stats) }, ...children].map(
    ({ agent, usage: { input, output, costs } }) => {
      const money = costs.length === 0 ? '' : `, ${formatMoney(costs)}`;
      const counts = `${formatCount(input, 'token')} in, ${formatCount(output, 'token')} out`;
      return `  ${oneLine(agent, 60)}: ${counts}${money}`;
    },
  );
}

export const cost: SlashCommand = {
  name: '/cost',
  description: 'Show the tokens and the cost of this session',
  run({ conversation, print }) {
    const usage = sessionUsage(conversation.state.stats);
    const { input, output, cacheRead, cacheWrite, reasoning, costs, estimated } = usage;
    const share = cachedPercent(usage) ?? 0;
    const lines = [
      `${formatCount(input, 'token')} in, ${formatCount(cacheRead, 'token')} read from the cache (${share} %), ${formatCount(cacheWrite, 'token')} written to it`,
      `${formatCount(output, 'token')} out, ${formatCount(reasoning, 'token')} of them for reasoning`,
      costs.length === 0 ? 'The price is unknown' : `${formatMoney(costs)} in total`,
      ...sharesOf(conversation.state.stats),
    ];
    print(
      note('plain', [...lines, ...(estimated ? ['Some values are estimated'] : [])].join('\n')),
    );
  },
};
