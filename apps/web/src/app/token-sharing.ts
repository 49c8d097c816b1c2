import { readStored, tabStorage, writeStored } from '@millrace/react/storage';
import { basePath } from '../server/base-path.ts';
import { isOpenedHere, readToken, takeLinkToken } from './browser-storage.ts';

// Each tab has its own token in its session storage. A new tab requests the token from the other
// tabs. So a link that opens in a new tab does not ask the user for a token. Only pages of the same
// origin receive these messages. If the server has a base path, other programs share its origin, so a
// tab neither answers nor requests a token.

const channelName = 'millrace:token';

type TokenMessage =
  | { readonly type: 'request' }
  | { readonly type: 'token'; readonly token: string };

/**
 * Answers the token requests of other tabs. Also takes the token from a link that the user opens in
 * this tab.
 */
export function shareToken(base: string = basePath): void {
  window.addEventListener('hashchange', () => {
    // Only a page of another site that opened this page could change its address. Then the page asks.
    if (takeLinkToken(window, isOpenedHere())) location.reload();
  });
  const channel = base === '' ? openChannel() : undefined;
  channel?.addEventListener('message', ({ data }: MessageEvent<TokenMessage>) => {
    const token = readToken();
    if (data?.type === 'request' && token !== '')
      channel.postMessage({ type: 'token', token } satisfies TokenMessage);
  });
}

/**
 * Requests from the other tabs a token that differs from the token of this tab. A tab accepts only
 * one answer. Otherwise two tabs with wrong tokens could exchange them forever. Returns a function
 * that stops waiting for an answer.
 */
export function requestToken(
  onToken: (token: string) => void,
  base: string = basePath,
): () => void {
  const hasAnswer = () => readStored(tabStorage, 'token-received') !== undefined;
  const channel = hasAnswer() || base !== '' ? undefined : openChannel();
  channel?.addEventListener('message', ({ data }: MessageEvent<TokenMessage>) => {
    const isNew = data?.type === 'token' && typeof data.token === 'string';
    if (!isNew || data.token === readToken() || hasAnswer()) return;
    writeStored(tabStorage, 'token-received', 'yes');
    onToken(data.token);
  });
  channel?.postMessage({ type: 'request' } satisfies TokenMessage);
  return () => channel?.close();
}

function openChannel(): BroadcastChannel | undefined {
  return typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(channelName);
}
