import type { TransportOptions } from '../transport/transport-options.ts';
import type { GivenHeaders } from '../wire/api-options.ts';
import type { ProviderTool } from './model.ts';

/** How a model is called. How its requests travel is the package's matter: it has its own `fetch`. */
export interface AiSdkOptions
  extends CallExtras,
    Pick<TransportOptions, 'clock' | 'timeouts' | 'maxConcurrentRequests' | 'limits'> {
  /**
   * Texts that must be in no error. The key that a package was given is not known here: unless it
   * looks like a key, it is found only if it is told.
   */
  readonly secrets?: readonly (string | undefined)[] | undefined;
}

/** What every call of a model is given besides the request. */
export interface CallExtras {
  readonly headers?: GivenHeaders | undefined;
  readonly providerTools?: readonly ProviderTool[] | undefined;
}
