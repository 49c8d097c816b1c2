import { z } from 'zod';
import { type ConfigFile, providerNames } from '../contract/config.ts';

const text = (describe: string) => z.string().min(1).describe(describe);
const count = (describe: string) => z.int().min(1).describe(describe);
const named = `\`\${NAME}\` is replaced by that variable of the environment.`;
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'max'] as const;
const effort = z.enum(efforts).describe('How much the model is asked to think before it answers.');
const rules = (describe: string) => z.array(z.string().min(1)).describe(describe);
const values = (describe: string) => z.record(z.string(), z.string()).describe(describe);

const model = z
  .strictObject({
    provider: z.enum(providerNames).describe('Whose server it is; "compatible" for any other.'),
    model: text("The provider's own name of the model."),
    api: z
      .enum(['chat', 'responses'])
      .optional()
      .describe("Which of OpenAI's two APIs a server that has both is spoken to with."),
    baseUrl: text(`The address of the API. ${named}`).optional(),
    apiKey: text(
      `The key. ${named} Without it, the provider's usual variable is taken, such as OPENAI_API_KEY.`,
    ).optional(),
    headers: values(`Sent with each request. ${named}`).optional(),
    contextTokens: count('How many tokens the model takes, where that is not known.').optional(),
    maxOutputTokens: count('How long one answer may be, in tokens.').optional(),
    reasoning: effort.optional(),
  })
  .describe('A model under a name of your own.');

const mcpServer = z
  .strictObject({
    command: text('A program that is started and spoken with by its input and output.').optional(),
    args: z.array(z.string()).describe(`Its arguments. ${named}`).optional(),
    env: values(`Its environment, beside PATH, HOME and the like. ${named}`).optional(),
    cwd: text('The folder that it runs in; this one if it is not said.').optional(),
    url: text(`The address of a server, instead of a command. ${named}`).optional(),
    headers: values(`Sent with each request to the url. ${named}`).optional(),
    type: z
      .enum(['stdio', 'http'])
      .describe('What other programs want to have said; it follows from the command or the url.')
      .optional(),
    disabled: z.boolean().describe('It stays in the file and is not used.').optional(),
  })
  .describe('A server of the Model Context Protocol: either a command or a url.');

const permissions = z
  .strictObject({
    mode: z
      .enum(['ask', 'allow', 'read-only'])
      .optional()
      .describe(
        '"ask" goes by the rules; "allow" allows what no rule denies, as --yes does; "read-only" lets tools look and no more.',
      ),
    allow: rules(
      'What needs no asking: "bash:git status", "write:src/**", "github_search".',
    ).optional(),
    ask: rules('What is asked about in any case.').optional(),
    deny: rules('What is never allowed, whatever else is: "bash:git push", "*:.env".').optional(),
  })
  .describe(
    'What tools may do. A rule is a tool, `tool:what` for commands that begin so and paths that fit, or `tool=what` for exactly that. Without a rule, reading inside the folder is allowed and everything else is asked about.',
  );

const limits = z
  .strictObject({
    maxTurns: count('Requests to the model in one run.').optional(),
    maxTokens: count('Tokens of one run, in and out.').optional(),
    maxCostUsd: z
      .number()
      .min(0.0001)
      .describe('US dollars of one run, as far as prices are known.')
      .optional(),
  })
  .describe('Where a run stops by itself.');

/** The schema of millrace.json and of the user's config.json. */
export const configSchema: z.ZodType<ConfigFile> = z
  .strictObject({
    $schema: z.string().describe('Where editors find the description of this file.').optional(),
    model: text('The model to use: a name of `models`, provider/model, or "demo".').optional(),
    models: z
      .record(z.string().min(1), model)
      .describe('Models under names of your own.')
      .optional(),
    reasoning: effort.optional(),
    system: text('Further instructions for the model, beside AGENTS.md.').optional(),
    limits: limits.optional(),
    permissions: permissions.optional(),
    mcpServers: z
      .record(z.string().min(1), mcpServer)
      .describe('Servers whose tools the model gets, by name.')
      .optional(),
    store: text(
      "The file that sessions are kept in; from this file's folder on if it is relative.",
    ).optional(),
    compactAtTokens: count(
      'When older turns are summarised; by the size of the model if it is not said.',
    ).optional(),
  })
  .describe('The configuration of millrace, the coding agent for the terminal.');

/** Returns the JSON schema for editors. `millrace.schema.json` contains the same text. */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, { target: 'draft-7', io: 'input' });
  return { ...schema, title: 'millrace.json' };
}
