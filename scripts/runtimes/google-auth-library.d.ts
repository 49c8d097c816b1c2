// Replaces the types of the optional peer, because those need the types of Node.
export declare class GoogleAuth {
  constructor(options?: unknown);
  getAccessToken(): Promise<string | null | undefined>;
  getProjectId(): Promise<string>;
  getRequestHeaders(): Promise<Headers>;
}
