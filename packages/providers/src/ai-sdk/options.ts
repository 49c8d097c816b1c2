import type { ModelInfoOptions } from '../models/model-info.ts';
import type { TransportOptions } from '../transport/transport-options.ts';
import type { HeaderOptions } from '../wire/api-options.ts';
import type { ProviderTool } from './model.ts';

/** Options of `fromAiSdk`. The package sends the HTTP requests itself, with its own `fetch`. */
export interface AiSdkOptions
  extends CallExtras,
    ModelInfoOptions,
    Pick<TransportOptions, 'clock' | 'timeouts' | 'maxConcurrentRequests' | 'limits'> {
  /**
   * Texts to remove from errors. Pass the API key of the package here, because `fromAiSdk` does not
   * know it. Only keys of a known format are found without it. Default: none.
   */
  readonly secrets?: readonly (string | undefined)[] | undefined;
}

/** Settings that every call gets in addition to the request. */
export interface CallExtras {
  /** Headers that every request gets. Default: none. */
  readonly headers?: HeaderOptions | undefined;
  /** Tools that the provider runs itself. Default: none. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
}
