import { cachedPercent } from '@millrace/core';
import type { ModelTable } from '@millrace/providers/models';
import type { Config } from '../../contract/config.ts';
import { chooseModel } from '../../models/choose-model.ts';
import { type KnownModel, knownModels, modelFacts } from '../../models/known-models.ts';
import { loadModelTable } from '../../models/model-table.ts';
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
    const { env, config, clock } = context;
    const known = await knownModels(env, config, { clock });
    const words = argument.toLowerCase().split(/\s+/).filter(Boolean);
    const isExact = known.some(({ name }) => name === argument);
    const fitting = known.filter(({ name }) =>
      words.every((word) => name.toLowerCase().includes(word)),
    );
    // The provider may have a model that is not in the list.
    if (argument !== '' && (isExact || fitting.length === 0))
      return switchToModel(context, argument);
    const [only, ...others] = fitting;
    if (argument !== '' && only !== undefined && others.length === 0)
      return switchToModel(context, only.name);
    const table = await loadModelTable(env);
    context.pick({
      title: `Which model? Current: ${context.built.chosen.label}`,
      items: fitting.map((one) => ({ label: one.name, detail: aboutModel(one, config, table) })),
      onPick: async (index) => {
        const name = fitting[index]?.name;
        if (name !== undefined) await switchToModel(context, name);
      },
    });
  },
};

/** Describes a model: where it comes from, its context size, and its prices for a million tokens. */
function aboutModel(known: KnownModel, config: Pick<Config, 'models'>, table: ModelTable): string {
  const { contextTokens, prices } = modelFacts(known, config, table);
  const size =
    contextTokens === undefined ? [] : [`${formatTokens(contextTokens)} tokens of context`];
  if (prices === undefined || prices === 'reported') return [known.from, ...size].join(', ');
  const { input, output, currency = 'USD' } = prices;
  const unit = currency === 'USD' ? '$' : `${currency} `;
  const cost =
    input === undefined || output === undefined ? [] : [`${unit}${input} in, ${unit}${output} out`];
  return [known.from, ...size, ...cost].join(', ');
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'max'] as const;

export const thinking: SlashCommand = {
  name: '/thinking',
  argument: '[effort]',
  description: 'Show or change how much the model reasons',
  choices: () => [{ value: 'default' }, ...efforts.map((value) => ({ value }))],
  run({ built, print, switchModel }, argument) {
    const { reasoning: current = 'default' } = built.chosen.request ?? {};
    const known = ['default', ...efforts];
    if (argument === '')
      return print(note('plain', `Reasoning effort: ${current}. Others: ${known.join(', ')}`));
    const wanted = argument.toLowerCase();
    const effort = efforts.find((one) => one === wanted);
    if (effort === undefined && wanted !== 'default')
      throw new Error(`There is no effort ${argument}. Use one of ${known.join(', ')}`);
    const { reasoning: _, ...others } = built.chosen.request ?? {};
    const request = effort === undefined ? others : { ...others, reasoning: effort };
    switchModel({ ...built.chosen, request });
    print(note('dim', `Reasoning effort: ${wanted}, from the next request on.`));
  },
};

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
 * Returns one line with the usage of the main agent, and one for each sub-agent. Returns no lines
 * if there were no sub-agents.
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
