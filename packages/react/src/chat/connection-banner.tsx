import type { Connection } from '@millrace/client';
import { Button } from '../design/button.tsx';
import { AlertIcon } from '../design/icons.tsx';
import { useNow } from '../design/time.tsx';
import { useLabels } from '../labels/use-labels.ts';
import { errorText } from './state/error-text.ts';
import './connection-banner.css';

/** The properties of `ConnectionBanner`. */
export interface ConnectionBannerProps {
  readonly connection: Connection;
  /** Called when the user wants to connect again. */
  readonly onReconnect: () => void;
  /**
   * Called when the user clicks the retry button. Default: all waiting connections of the page
   * retry.
   */
  readonly onRetryNow?: (() => void) | undefined;
}

/**
 * A banner that appears when the connection is lost. The content of the page may then be out of
 * date.
 */
export function ConnectionBanner(props: ConnectionBannerProps) {
  const t = useLabels();
  const { connection, onReconnect, onRetryNow = retryNow } = props;
  switch (connection.state) {
    case 'live':
      return null;
    case 'connecting':
      return connection.failures === 0 ? null : <Banner text={t.reconnecting} />;
    case 'retrying':
      return <Retrying connection={connection} onRetryNow={onRetryNow} />;
    case 'ended':
      return null;
    case 'failed':
      return (
        <Banner text={errorText(connection.error, t)} isBad>
          <Button size="small" onClick={onReconnect}>
            {t.reconnect}
          </Button>
        </Banner>
      );
  }
}

interface RetryingProps {
  readonly connection: Extract<Connection, { state: 'retrying' }>;
  readonly onRetryNow: () => void;
}

function Retrying({ connection, onRetryNow }: RetryingProps) {
  const t = useLabels();
  const now = useNow(500);
  const seconds = Math.max(0, Math.ceil((connection.nextTryAt - now) / 1000));
  return (
    <Banner text={t.connectionLost(seconds)}>
      <Button size="small" onClick={onRetryNow}>
        {t.tryNow}
      </Button>
    </Banner>
  );
}

/**
 * Dispatches the browser event for a restored network. All waiting connections then retry
 * immediately.
 */
function retryNow(): void {
  window.dispatchEvent(new Event('online'));
}

interface BannerProps {
  readonly text: string;
  readonly isBad?: boolean;
  readonly children?: React.ReactNode;
}

function Banner({ text, isBad = false, children }: BannerProps) {
  return (
    <div className="banner" data-bad={isBad || undefined} role="status">
      <AlertIcon />
      <span>{text}</span>
      {children}
    </div>
  );
}
