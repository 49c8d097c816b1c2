export * from '@millrace/providers/ai-sdk';
