import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BundleOptions } from '@temporalio/worker';

type WebpackHook = NonNullable<BundleOptions['webpackConfigHook']>;
type WebpackConfig = Parameters<WebpackHook>[0];

/** The path of the shims: `.ts` when run from sources, `.js` when built. */
const shims = fileURLToPath(new URL(`./sdk-shims${extname(import.meta.url)}`, import.meta.url));

/**
 * Changes a webpack configuration so that a workflow bundle can load the SDK. The bundle loads only the core
 * of the SDK, without OpenAI's client, and replaces the platform functions. The plugin does this
 * automatically. If you bundle the workflow code yourself, call `bundleWorkflowCode({ workflowsPath,
 * webpackConfigHook: withAgentsSdk })`.
 */
export function withAgentsSdk(config: WebpackConfig): WebpackConfig {
  const { resolve = {}, output, module } = config;
  const { alias } = resolve;
  const parser = module?.parser as { readonly javascript?: object } | undefined;
  return {
    ...config,
    // The bundle is one file, and there is no URL from which further files could be loaded.
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
