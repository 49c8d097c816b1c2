import { isDecimal } from '@millrace/core';
import type { ModelInfo } from '@millrace/providers';
import { z } from 'zod';

const count = (describe: string) => z.int().min(1).describe(describe).optional();
const flag = (describe: string) => z.boolean().describe(describe).optional();

const price = (describe: string) =>
  z
    .string()
    .refine((text) => isDecimal(text) && !text.startsWith('-'), 'must be a decimal such as "0.25"')
    .describe(`${describe}, for a million tokens, such as "0.25".`);

const tokenPrices = () => ({
  input: price('The price of input'),
  output: price('The price of output'),
  cacheRead: price('The price of input that was read from the cache').optional(),
  cacheWrite: price('The price of input that was written to the cache').optional(),
  cacheWriteLong: price('The price of input that was written to the cache for an hour').optional(),
  reasoning: price('The price of reasoning').optional(),
});

const prices = () =>
  z.union([
    z.literal('reported').describe('The server reports the cost of each answer.'),
    z.strictObject({
      ...tokenPrices(),
      currency: z.string().min(1).describe('The currency. Default: "USD".').optional(),
      above: z
        .array(z.strictObject({ ...tokenPrices(), inputTokens: z.int().min(1) }))
        .describe('The prices of requests with more input tokens than `inputTokens`.')
        .optional(),
    }),
  ]);

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/**
 * Creates the schema of the data about a model in the configuration. The data overrides the built-in table
 * of models. Creating the schema takes longer than loading all other modules of the configuration, so the
 * program creates it when a file contains such data.
 */
export const modelInfoSchema = (): z.ZodType<ModelInfo> =>
  z
    .strictObject({
      contextTokens: count('Maximum number of input tokens.'),
      maxOutputTokens: count('Maximum number of output tokens.'),
      inputs: z
        .array(z.enum(['image', 'pdf', 'audio', 'video']))
        .describe('What the model reads besides text.')
        .optional(),
      reasons: flag('Whether the model reasons.'),
      efforts: z
        .array(z.enum(efforts))
        .describe('The reasoning efforts that the model accepts.')
        .optional(),
      defaultEffort: z.enum(efforts).describe('The effort if a request names none.').optional(),
      thinking: z
        .enum(['effort', 'budget'])
        .describe('How the model is asked to reason, where an API has both ways.')
        .optional(),
      thinkingBudget: z
        .tuple([z.int().min(0), z.int().min(0)])
        .describe('The smallest and the largest budget for reasoning, in tokens.')
        .optional(),
      alwaysThinks: flag('Whether the model cannot answer without reasoning.'),
      sampling: z
        .enum(['always', 'without_reasoning', 'never'])
        .describe('When the model accepts a temperature.')
        .optional(),
      prefill: flag('Whether the model continues an unfinished answer.'),
      systemMessages: flag('Whether the model accepts system messages inside of a conversation.'),
      forcedTools: flag('Whether the model can be forced to call a tool.'),
      outputSchema: flag('Whether the server enforces a schema on answers.'),
      outputWithTools: flag('Whether a schema for the answer can be sent beside tools.'),
      signedCalls: flag('Whether calls must be sent back with their signatures.'),
      mediaInResults: flag('Whether results of tools can contain pictures.'),
      longCache: flag('Whether cached prompts can be kept for a day.'),
      prices: prices().describe('The prices of the model, for --max-cost and /cost.').optional(),
    })
    .describe('Facts about the model, if Millrace does not know it or knows it wrongly.');
