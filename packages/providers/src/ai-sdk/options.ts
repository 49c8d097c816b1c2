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
   * Texts to remove from errors. The API key of the package is not known here. Pass it, because
   * only keys of a known format are found automatically. Default: none.
   */
  readonly secrets?: readonly (string | undefined)[] | undefined;
}

/** Values that every call gets in addition to the request. */
export interface CallExtras {
  /** Headers of every request. Default: none. */
  readonly headers?: HeaderOptions | undefined;
  /** Tools that the provider runs itself. Default: none. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
}
