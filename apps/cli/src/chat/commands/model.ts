import { chooseModel } from '../../models/choose-model.ts';
import { type KnownModel, knownModels } from '../../models/known-models.ts';
import { tokens } from '../render/amounts.ts';
import { note } from '../state/block.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

export const model: SlashCommand = {
  name: '/model',
  argument: '[name]',
  description: 'Answer with another model from now on',
  async run(context, argument) {
    if (argument !== '') return answerWith(context, argument);
    const { env, config, clock } = context;
    const known = await knownModels(env, config, { clock });
    context.pick({
      title: `Which model? Now it is ${context.built.chosen.label}`,
      items: known.map((one) => ({ label: one.name, detail: aboutModel(one) })),
      onPick: async (index) => {
        const name = known[index]?.name;
        if (name !== undefined) await answerWith(context, name);
      },
    });
  },
};

function aboutModel({ from, contextTokens }: KnownModel): string {
  return contextTokens === undefined ? from : `${from}, ${tokens(contextTokens)} tokens of context`;
}

async function answerWith(context: CommandContext, name: string): Promise<void> {
  const { config, env, cwd, clock } = context;
  const chosen = await chooseModel({ config: { ...config, model: name }, env, cwd, clock });
  context.use(chosen);
  context.print(note('dim', chosen.why));
}
