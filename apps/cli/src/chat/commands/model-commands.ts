import { chooseModel } from '../../models/choose-model.ts';
import { type KnownModel, knownModels } from '../../models/known-models.ts';
import { note } from '../contract/block.ts';
import { formatCount, formatMoney, formatTokens } from '../render/format-amounts.ts';
import { sessionUsage } from '../state/usage-stats.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

export const model: SlashCommand = {
  name: '/model',
  argument: '[name]',
  description: 'Answer with another model from now on',
  async run(context, argument) {
    if (argument !== '') return switchToModel(context, argument);
    const { env, config, clock } = context;
    const known = await knownModels(env, config, { clock });
    context.pick({
      title: `Which model? Now it is ${context.built.chosen.label}`,
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
  description: 'What the model can do here',
  run({ built, print }) {
    const rows = built.tools.map(({ name, description }) => {
      const [first = ''] = description.split('\n');
      return [name, first] as const;
    });
    print({ type: 'rows', rows });
  },
};

export const cost: SlashCommand = {
  name: '/cost',
  description: 'What this session has used',
  run({ conversation, print }) {
    const { input, output, cacheRead, cacheWrite, reasoning, costs, estimated } = sessionUsage(
      conversation.state.stats,
    );
    const lines = [
      `${formatCount(input, 'token')} in, of which ${formatCount(cacheRead, 'token')} from a cache and ${formatCount(cacheWrite, 'token')} into one`,
      `${formatCount(output, 'token')} out, of which ${formatCount(reasoning, 'token')} of reasoning`,
      costs.length === 0 ? 'The provider tells no price' : `${formatMoney(costs)} in all`,
    ];
    print(note('plain', [...lines, ...(estimated ? ['Some of it is estimated'] : [])].join('\n')));
  },
};
