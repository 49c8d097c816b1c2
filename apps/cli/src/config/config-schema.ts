import { z } from 'zod';
import {
  type ConfigFile,
  cacheSettings,
  notificationWays,
  providerNames,
  sandboxSettings,
  sessionModes,
  themeNames,
  webSearchSettings,
} from '../contract/config.ts';
import { modelInfoSchema } from './model-info-schema.ts';

const text = (describe: string) => z.string().min(1).describe(describe);
const name = (describe: string) => z.string().trim().min(1).describe(describe);
const count = (describe: string) => z.int().min(1).describe(describe);
const named = `\`\${NAME}\` is replaced by this environment variable.`;
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'max'] as const;
const effort = () => z.enum(efforts).describe('The reasoning effort of the model.');
const rules = (describe: string) => z.array(z.string().min(1)).describe(describe);
const values = (describe: string) => z.record(z.string(), z.string()).describe(describe);

const model = () =>
  z
    .strictObject({
      provider: z
        .enum(providerNames)
        .describe(
          'The provider of the model; "compatible" for any other server with the API of OpenAI.',
        ),
      model: text("The provider's name of the model."),
      api: z
        .enum(['chat', 'responses'])
        .optional()
        .describe("Which of OpenAI's two APIs to use, if the server has both."),
      baseUrl: text(`The base URL of the API. ${named}`).optional(),
      apiKey: text(
        `The API key. ${named} Default: the provider's usual variable, such as OPENAI_API_KEY.`,
      ).optional(),
      headers: values(`HTTP headers for each request. ${named}`).optional(),
      contextTokens: count(
        'The context size of the model in tokens, if Millrace does not know the model.',
      ).optional(),
      maxOutputTokens: count('The maximum length of one answer in tokens.').optional(),
      reasoning: effort().optional(),
      info: z.lazy(modelInfoSchema).optional(),
    })
    .describe('A model with a name of your choice.');

const mcpServer = () =>
  z
    .strictObject({
      command: text(
        'A program to start. It communicates through its standard input and output.',
      ).optional(),
      args: z.array(z.string()).describe(`The arguments of the command. ${named}`).optional(),
      env: values(
        `Environment variables of the command, in addition to PATH, HOME and other basic ones. ${named}`,
      ).optional(),
      cwd: text(
        'The folder in which the command runs, relative to the working folder. Default: the working folder for a server of a project, and the folder of your own configuration for a server of yours.',
      ).optional(),
      url: text(`The URL of a server, instead of a command. ${named}`).optional(),
      headers: values(`HTTP headers for each request to the url. ${named}`).optional(),
      oauth: z
        .strictObject({
          clientId: text(`The id of this client at the authorization server. ${named}`).optional(),
          clientSecret: text(`The secret for clientId. ${named}`).optional(),
          clientMetadataUrl: text(
            'The https address of a document that describes this client.',
          ).optional(),
          scope: text('The scopes to ask for, separated by spaces.').optional(),
          redirectPort: count('The port on 127.0.0.1 to which the browser returns.').optional(),
          privateNetwork: z
            .boolean()
            .describe('The authorization server can be in a private network. Default: false.')
            .optional(),
        })
        .describe('How you log in to the url with /mcp login. Most servers need no settings.')
        .optional(),
      type: z
        .enum(['stdio', 'http'])
        .describe('Accepted for compatibility with other programs. The command or the url decides.')
        .optional(),
      connectTimeoutMs: count(
        'How long the server may take to start and to list its tools, in milliseconds. Default: 60000.',
      ).optional(),
      disabled: z.boolean().describe('Do not use this server.').optional(),
    })
    .describe('A Model Context Protocol server: either a command or a url.');

const permissions = () =>
  z
    .strictObject({
      mode: z
        .enum(sessionModes)
        .optional()
        .describe(
          '"plan" only reads and proposes a plan; "ask" applies the rules; "accept-edits" also changes files in the folder without a question; "auto" also runs commands in the sandbox without a question; "allow" allows everything that no rule denies, like --yes; "read-only" offers only tools that read. Default: "ask".',
        ),
      allow: rules(
        'Calls that run without approval: "bash:git status", "write:src/**", "github_search".',
      ).optional(),
      ask: rules('Calls that always need approval.').optional(),
      deny: rules(
        'Calls that are never allowed: "bash:git push", "*:.env". These rules override all others.',
      ).optional(),
    })
    .describe(
      'What tools may do. A rule is a tool name, `tool:pattern` for a command prefix or a path glob, or `tool=text` for an exact match. Without a rule, reading inside the folder is allowed and everything else needs approval.',
    );

const paths = (describe: string) =>
  z
    .array(z.string().regex(/^(?:~\/|\/)./, 'must be an absolute path or start with ~/'))
    .describe(`${describe} Absolute paths, or paths that start with ~/.`);

const sandbox = () =>
  z
    .strictObject({
      profile: z
        .enum(sandboxSettings)
        .optional()
        .describe(
          'What commands may change: "workspace" is this folder and a private /tmp, "read-only" is only /tmp, "off" is everything. Default: "workspace" if the system has a sandbox, otherwise "off".',
        ),
      network: z.boolean().optional().describe('Give all commands network. Default: false.'),
      unixSockets: z
        .boolean()
        .optional()
        .describe(
          'Let commands use UNIX sockets, which can lead out of the sandbox. Default: false.',
        ),
      writable: paths(
        'Further places that commands may change, such as a package cache.',
      ).optional(),
      hide: paths(
        'Further places that commands can neither read nor change. The places of all files are hidden.',
      ).optional(),
    })
    .describe('How commands are confined. `millrace doctor` tells what protects you here.');

const commands = () =>
  z
    .strictObject({
      env: z
        .array(z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable'))
        .optional()
        .describe(
          'Names of further environment variables that commands get, such as SSH_AUTH_SOCK.',
        ),
      maskSecrets: z
        .boolean()
        .optional()
        .describe(
          'Replace keys in the output of commands before it is stored and sent to the model. Default: true.',
        ),
      onTimeout: z
        .enum(['stop', 'detach'])
        .optional()
        .describe(
          'What happens to a command at its time limit: "stop" stops it, "detach" lets it continue in the background. Default: "stop".',
        ),
    })
    .describe('What commands get and what is kept of their output.');

const limits = () =>
  z
    .strictObject({
      maxTurns: count('Maximum number of model requests in one run.').optional(),
      maxTokens: count('Maximum number of input and output tokens in one run.').optional(),
      maxCostUsd: z
        .number()
        .min(0.0001)
        .describe('Maximum cost of one run in US dollars. The price of the model must be known.')
        .optional(),
      allowUnknownPrices: z
        .boolean()
        .describe('Accept a maximum cost for a model without a known price. Default: false.')
        .optional(),
    })
    .describe('Limits at which a run stops.');

let created: z.ZodType<ConfigFile> | undefined;

/**
 * Returns the schema of millrace.json and of the user's config.json. Creating it takes several milliseconds,
 * and a start without such a file does not need it.
 */
export function configSchema(): z.ZodType<ConfigFile> {
  created ??= createSchema();
  return created;
}

const createSchema = (): z.ZodType<ConfigFile> =>
  z
    .strictObject({
      $schema: z.string().describe('The JSON schema of this file, for editors.').optional(),
      model: name('The model to use: a name from `models`, provider/model, or "demo".').optional(),
      models: z
        .record(z.string().min(1), model())
        .describe('Models with names of your choice.')
        .optional(),
      reasoning: effort().optional(),
      system: text('Further instructions for the model, in addition to AGENTS.md.').optional(),
      limits: limits().optional(),
      permissions: permissions().optional(),
      sandbox: sandbox().optional(),
      commands: commands().optional(),
      mcpServers: z
        .record(z.string().min(1), mcpServer())
        .describe('MCP servers by name. The model can use their tools.')
        .optional(),
      store: text(
        "The file that stores the sessions. A relative path starts at this file's folder. Only your own configuration can set it. In a project's millrace.json it has no effect.",
      ).optional(),
      chain: z
        .boolean()
        .describe(
          'Give each session a hash chain, so that `millrace verify` can prove that no record was changed. Default: false.',
        )
        .optional(),
      compactAtTokens: count(
        'Context size in tokens at which older turns are summarized. Default: depends on the model.',
      ).optional(),
      cache: z
        .enum(cacheSettings)
        .optional()
        .describe(
          'How long the provider caches the prompt, if the provider lets us choose: "5m" or "1h". A longer life costs more to write. "off" sends no cache hints. Default: "5m".',
        ),
      webSearch: z
        .enum(webSearchSettings)
        .optional()
        .describe(
          'The service that searches the web for the model: "brave", "tavily" and "exa" need BRAVE_API_KEY, TAVILY_API_KEY or EXA_API_KEY; "hosted" is the search of the provider of the model, which asks no questions; "auto" is the first service whose key is set; "off" is nobody. Default: "auto".',
        ),
      theme: z
        .enum(themeNames)
        .optional()
        .describe(
          'The colours of the chat: "auto" uses the basic colours of the terminal, "dark" and "light" fit a dark or light background, "none" shows no colours. Default: "auto".',
        ),
      plain: z
        .boolean()
        .describe(
          'The chat prints lines for a screen reader and draws no screen, like --plain. Default: false.',
        )
        .optional(),
      notifications: z
        .strictObject({
          waiting: z
            .enum(notificationWays)
            .optional()
            .describe(
              'When a run waits for your answer: "bell" rings the bell of the terminal, "osc9" sends a notification to the terminal, "desktop" starts notify-send or osascript. Default: "bell".',
            ),
          done: z
            .enum(notificationWays)
            .optional()
            .describe('When a run has ended. Default: "off".'),
        })
        .optional()
        .describe('How the chat notifies you.'),
    })
    .describe('The configuration of millrace, the coding agent for the terminal.');

/** Returns the JSON schema for editors. `millrace.schema.json` contains the same text. */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configSchema(), { target: 'draft-7', io: 'input' });
  return { ...schema, title: 'millrace.json' };
}
