import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BundleOptions } from '@temporalio/worker';

type WebpackHook = NonNullable<BundleOptions['webpackConfigHook']>;
type WebpackConfig = Parameters<WebpackHook>[0];

/** Built, or as it was written. */
const shims = fileURLToPath(new URL(`./sdk-shims${extname(import.meta.url)}`, import.meta.url));

/**
 * Makes a workflow bundle that the SDK loads in: its core alone, without OpenAI's client and its
 * sockets, on what a workflow has instead of a platform. The plugin does this; it is for those who bundle
 * by themselves: `bundleWorkflowCode({ workflowsPath, webpackConfigHook: withAgentsSdk })`.
 */
export function withAgentsSdk(config: WebpackConfig): WebpackConfig {
  const { resolve = {}, output, module } = config;
  const { alias } = resolve;
  const parser = module?.parser as { readonly javascript?: object } | undefined;
  return {
    ...config,
    // There is one file, and no address that more could be loaded from.
    output: { ...output, publicPath: '' },
    module: {
      ...module,
      parser: { ...parser, javascript: { ...parser?.javascript, dynamicImportMode: 'eager' } },
    },
    resolve: {
      ...resolve,
      alias: {
        ...(Array.isArray(alias) ? {} : alias),
        '@openai/agents$': '@openai/agents-core',
        '@openai/agents-core/_shims$': shims,
        '@openai/agents-core/_shims/config$': shims,
      },
    },
  };
}
