import type { FieldTable } from './field-faults.ts';

/** The request fields of @google/genai 2.32.0. Written by scripts/wire-fields.ts. */
export const geminiFields: FieldTable = {
  Body: 'cachedContent?:str contents:Content[] generationConfig?:GenerationConfig labels?:any safetySettings?:SafetySetting[] serviceTier?:"flex"|"priority"|"standard"|"unspecified" systemInstruction?:Content toolConfig?:ToolConfig tools?:Tool[]',
  Content: 'parts?:Part[] role?:str',
  Part: 'audioTranscription?:Transcription codeExecutionResult?:CodeExecutionResult executableCode?:ExecutableCode fileData?:FileData functionCall?:FunctionCall functionResponse?:FunctionResponse inlineData?:Blob_2 mediaProcessing?:"AGENTIC"|"MEDIA_PROCESSING_UNSPECIFIED"|"STATIC" mediaResolution?:PartMediaResolution partMetadata?:any speechMetadata?:SpeechMetadata text?:str thought?:bool thoughtSignature?:str toolCall?:ToolCall toolResponse?:ToolResponse videoMetadata?:VideoMetadata',
  PartMediaResolution:
    'level?:"MEDIA_RESOLUTION_HIGH"|"MEDIA_RESOLUTION_LOW"|"MEDIA_RESOLUTION_MEDIUM"|"MEDIA_RESOLUTION_ULTRA_HIGH"|"MEDIA_RESOLUTION_UNSPECIFIED" numTokens?:num',
  ToolCall:
    'args?:any id?:str toolType?:"FILE_SEARCH"|"GOOGLE_MAPS"|"GOOGLE_SEARCH_IMAGE"|"GOOGLE_SEARCH_WEB"|"MEDIA_PROCESSING"|"TOOL_TYPE_UNSPECIFIED"|"URL_CONTEXT"',
  ToolResponse:
    'id?:str response?:any toolType?:"FILE_SEARCH"|"GOOGLE_MAPS"|"GOOGLE_SEARCH_IMAGE"|"GOOGLE_SEARCH_WEB"|"MEDIA_PROCESSING"|"TOOL_TYPE_UNSPECIFIED"|"URL_CONTEXT"',
  Transcription:
    'endOffset?:str finished?:bool languageCode?:str speakerLabel?:str startOffset?:str text?:str words?:WordInfo[]',
  WordInfo: 'endOffset?:str startOffset?:str word?:str',
  CodeExecutionResult:
    'id?:str outcome?:"OUTCOME_DEADLINE_EXCEEDED"|"OUTCOME_FAILED"|"OUTCOME_OK"|"OUTCOME_UNSPECIFIED" output?:str',
  ExecutableCode: 'code?:str id?:str language?:"LANGUAGE_UNSPECIFIED"|"PYTHON"',
  FileData: 'displayName?:str fileUri?:str mimeType?:str',
  FunctionCall: 'args?:any id?:str name?:str partialArgs?:PartialArg[] willContinue?:bool',
  PartialArg:
    'boolValue?:bool jsonPath?:str nullValue?:"NULL_VALUE" numberValue?:num stringValue?:str willContinue?:bool',
  FunctionResponse:
    'id?:str name?:str parts?:FunctionResponsePart[] response?:any scheduling?:"INTERRUPT"|"SCHEDULING_UNSPECIFIED"|"SILENT"|"WHEN_IDLE" willContinue?:bool',
  FunctionResponsePart:
    'fileData?:FunctionResponseFileData inlineData?:FunctionResponseBlob mediaProcessing?:"AGENTIC"|"MEDIA_PROCESSING_UNSPECIFIED"|"STATIC"',
  FunctionResponseFileData: 'displayName?:str fileUri?:str mimeType?:str',
  FunctionResponseBlob: 'data?:str displayName?:str mimeType?:str',
  Blob_2: 'data?:str displayName?:str mimeType?:str',
  VideoMetadata: 'endOffset?:str fps?:num startOffset?:str',
  SpeechMetadata: 'speaker?:str style?:str',
  Tool: 'codeExecution?:any computerUse?:ComputerUse enterpriseWebSearch?:EnterpriseWebSearch exaAiSearch?:ToolExaAiSearch fileSearch?:FileSearch functionDeclarations?:FunctionDeclaration[] googleMaps?:GoogleMaps googleSearch?:GoogleSearch googleSearchRetrieval?:GoogleSearchRetrieval mcpServers?:McpServer[] parallelAiSearch?:ToolParallelAiSearch retrieval?:Retrieval urlContext?:any',
  Retrieval:
    'disableAttribution?:bool externalApi?:ExternalApi vertexAiSearch?:VertexAISearch vertexRagStore?:VertexRagStore',
  ExternalApi:
    'apiAuth?:ApiAuth apiSpec?:"API_SPEC_UNSPECIFIED"|"ELASTIC_SEARCH"|"SIMPLE_SEARCH" authConfig?:AuthConfig elasticSearchParams?:ExternalApiElasticSearchParams endpoint?:str simpleSearchParams?:any',
  ApiAuth: 'apiKeyConfig?:ApiAuthApiKeyConfig',
  ApiAuthApiKeyConfig: 'apiKeySecretVersion?:str apiKeyString?:str',
  AuthConfig:
    'apiKey?:str apiKeyConfig?:ApiKeyConfig authType?:"API_KEY_AUTH"|"AUTH_TYPE_UNSPECIFIED"|"GOOGLE_SERVICE_ACCOUNT_AUTH"|"HTTP_BASIC_AUTH"|"NO_AUTH"|"OAUTH"|"OIDC_AUTH" googleServiceAccountConfig?:AuthConfigGoogleServiceAccountConfig httpBasicAuthConfig?:AuthConfigHttpBasicAuthConfig oauthConfig?:AuthConfigOauthConfig oidcConfig?:AuthConfigOidcConfig',
  ApiKeyConfig:
    'apiKeySecret?:str apiKeyString?:str httpElementLocation?:"HTTP_IN_BODY"|"HTTP_IN_COOKIE"|"HTTP_IN_HEADER"|"HTTP_IN_PATH"|"HTTP_IN_QUERY"|"HTTP_IN_UNSPECIFIED" name?:str',
  AuthConfigGoogleServiceAccountConfig: 'serviceAccount?:str',
  AuthConfigHttpBasicAuthConfig: 'credentialSecret?:str',
  AuthConfigOauthConfig: 'accessToken?:str serviceAccount?:str',
  AuthConfigOidcConfig: 'idToken?:str serviceAccount?:str',
  ExternalApiElasticSearchParams: 'index?:str numHits?:num searchTemplate?:str',
  VertexAISearch:
    'dataStoreSpecs?:VertexAISearchDataStoreSpec[] datastore?:str engine?:str filter?:str maxResults?:num',
  VertexAISearchDataStoreSpec: 'dataStore?:str filter?:str',
  VertexRagStore:
    'ragCorpora?:str[] ragResources?:VertexRagStoreRagResource[] ragRetrievalConfig?:RagRetrievalConfig similarityTopK?:num storeContext?:bool vectorDistanceThreshold?:num',
  VertexRagStoreRagResource: 'ragCorpus?:str ragFileIds?:str[]',
  RagRetrievalConfig:
    'filter?:RagRetrievalConfigFilter hybridSearch?:RagRetrievalConfigHybridSearch ranking?:RagRetrievalConfigRanking topK?:num',
  RagRetrievalConfigFilter:
    'metadataFilter?:str vectorDistanceThreshold?:num vectorSimilarityThreshold?:num',
  RagRetrievalConfigHybridSearch: 'alpha?:num',
  RagRetrievalConfigRanking:
    'llmRanker?:RagRetrievalConfigRankingLlmRanker rankService?:RagRetrievalConfigRankingRankService',
  RagRetrievalConfigRankingLlmRanker: 'modelName?:str',
  RagRetrievalConfigRankingRankService: 'modelName?:str',
  GoogleMaps: 'authConfig?:AuthConfig enableWidget?:bool groundingTypes?:GoogleMapsGroundingTypes',
  GoogleMapsGroundingTypes: 'places?:any routing?:any',
  McpServer: 'name?:str streamableHttpTransport?:StreamableHttpTransport',
  StreamableHttpTransport:
    'headers?:any sseReadTimeout?:str terminateOnClose?:bool timeout?:str url?:str',
  ComputerUse:
    'disabledSafetyPolicies?:"ACCOUNT_CREATION"[]|"COMMUNICATION_TOOL"[]|"DATA_MODIFICATION"[]|"FINANCIAL_TRANSACTIONS"[]|"LEGAL_TERMS_AND_AGREEMENTS"[]|"SAFETY_POLICY_UNSPECIFIED"[]|"SENSITIVE_DATA_MODIFICATION"[]|"USER_CONSENT_MANAGEMENT"[] enablePromptInjectionDetection?:bool environment?:"ENVIRONMENT_BROWSER"|"ENVIRONMENT_DESKTOP"|"ENVIRONMENT_MOBILE"|"ENVIRONMENT_UNSPECIFIED" excludedPredefinedFunctions?:str[]',
  EnterpriseWebSearch:
    'blockingConfidence?:"BLOCK_HIGHER_AND_ABOVE"|"BLOCK_HIGH_AND_ABOVE"|"BLOCK_LOW_AND_ABOVE"|"BLOCK_MEDIUM_AND_ABOVE"|"BLOCK_ONLY_EXTREMELY_HIGH"|"BLOCK_VERY_HIGH_AND_ABOVE"|"PHISH_BLOCK_THRESHOLD_UNSPECIFIED" excludeDomains?:str[]',
  ToolExaAiSearch: 'apiKey?:str customConfigs?:any',
  FunctionDeclaration:
    'behavior?:"BLOCKING"|"NON_BLOCKING"|"UNSPECIFIED" description?:str name?:str parameters?:Schema parametersJsonSchema?:any response?:Schema responseJsonSchema?:any',
  Schema:
    'anyOf?:Schema[] default?:any description?:str enum?:str[] example?:any format?:str items?:Schema maxItems?:str maxLength?:str maxProperties?:str maximum?:num minItems?:str minLength?:str minProperties?:str minimum?:num nullable?:bool pattern?:str properties?:any propertyOrdering?:str[] required?:str[] title?:str type?:"ARRAY"|"BOOLEAN"|"INTEGER"|"NULL"|"NUMBER"|"OBJECT"|"STRING"|"TYPE_UNSPECIFIED"',
  GoogleSearch:
    'blockingConfidence?:"BLOCK_HIGHER_AND_ABOVE"|"BLOCK_HIGH_AND_ABOVE"|"BLOCK_LOW_AND_ABOVE"|"BLOCK_MEDIUM_AND_ABOVE"|"BLOCK_ONLY_EXTREMELY_HIGH"|"BLOCK_VERY_HIGH_AND_ABOVE"|"PHISH_BLOCK_THRESHOLD_UNSPECIFIED" excludeDomains?:str[] searchTypes?:SearchTypes timeRangeFilter?:Interval',
  SearchTypes: 'imageSearch?:any webSearch?:any',
  Interval: 'endTime?:str startTime?:str',
  GoogleSearchRetrieval: 'dynamicRetrievalConfig?:DynamicRetrievalConfig',
  DynamicRetrievalConfig: 'dynamicThreshold?:num mode?:"MODE_DYNAMIC"|"MODE_UNSPECIFIED"',
  ToolParallelAiSearch:
    'apiKey?:str customConfigs?:any enableDataRetention?:bool enableZeroDataRetention?:bool',
  FileSearch: 'fileSearchStoreNames?:str[] metadataFilter?:str topK?:num',
  ToolConfig:
    'functionCallingConfig?:FunctionCallingConfig includeServerSideToolInvocations?:bool retrievalConfig?:RetrievalConfig',
  FunctionCallingConfig:
    'allowedFunctionNames?:str[] mode?:"ANY"|"AUTO"|"MODE_UNSPECIFIED"|"NONE"|"VALIDATED" streamFunctionCallArguments?:bool',
  RetrievalConfig: 'languageCode?:str latLng?:LatLng',
  LatLng: 'latitude?:num longitude?:num',
  SafetySetting:
    'category?:"HARM_CATEGORY_CIVIC_INTEGRITY"|"HARM_CATEGORY_DANGEROUS_CONTENT"|"HARM_CATEGORY_HARASSMENT"|"HARM_CATEGORY_HATE_SPEECH"|"HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT"|"HARM_CATEGORY_IMAGE_HARASSMENT"|"HARM_CATEGORY_IMAGE_HATE"|"HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT"|"HARM_CATEGORY_JAILBREAK"|"HARM_CATEGORY_SEXUALLY_EXPLICIT"|"HARM_CATEGORY_UNSPECIFIED" method?:"HARM_BLOCK_METHOD_UNSPECIFIED"|"PROBABILITY"|"SEVERITY" threshold?:"BLOCK_LOW_AND_ABOVE"|"BLOCK_MEDIUM_AND_ABOVE"|"BLOCK_NONE"|"BLOCK_ONLY_HIGH"|"HARM_BLOCK_THRESHOLD_UNSPECIFIED"|"OFF"',
  GenerationConfig:
    'audioTimestamp?:bool audioTranscriptionConfig?:AudioTranscriptionConfig candidateCount?:num enableAffectiveDialog?:bool enableEnhancedCivicAnswers?:bool frequencyPenalty?:num logprobs?:num maxOutputTokens?:num mediaResolution?:"MEDIA_RESOLUTION_HIGH"|"MEDIA_RESOLUTION_LOW"|"MEDIA_RESOLUTION_MEDIUM"|"MEDIA_RESOLUTION_UNSPECIFIED" modelSelectionConfig?:ModelSelectionConfig presencePenalty?:num responseFormat?:ResponseFormat[] responseJsonSchema?:any responseLogprobs?:bool responseMimeType?:str responseModalities?:"AUDIO"[]|"IMAGE"[]|"MODALITY_UNSPECIFIED"[]|"TEXT"[]|"VIDEO"[] responseSchema?:Schema routingConfig?:GenerationConfigRoutingConfig seed?:num speechConfig?:SpeechConfig stopSequences?:str[] temperature?:num thinkingConfig?:ThinkingConfig topK?:num topP?:num translationConfig?:TranslationConfig',
  ModelSelectionConfig:
    'featureSelectionPreference?:"BALANCED"|"FEATURE_SELECTION_PREFERENCE_UNSPECIFIED"|"PRIORITIZE_COST"|"PRIORITIZE_QUALITY"',
  AudioTranscriptionConfig:
    'adaptationPhrases?:str[] customVocabulary?:str[] diarization?:bool languageAuto?:any languageCodes?:str[] languageHints?:LanguageHints mode?:"MODE_UNSPECIFIED"|"SMART"|"VERBATIM" wordTimestamp?:bool',
  LanguageHints: 'languageCodes?:str[]',
  ResponseFormat:
    'audio?:AudioResponseFormat image?:ImageResponseFormat text?:TextResponseFormat video?:VideoResponseFormat',
  AudioResponseFormat:
    'bitRate?:num delivery?:"DELIVERY_UNSPECIFIED"|"INLINE"|"URI" mimeType?:str sampleRate?:num',
  ImageResponseFormat:
    'aspectRatio?:"ASPECT_RATIO_EIGHT_BY_ONE"|"ASPECT_RATIO_FIVE_BY_FOUR"|"ASPECT_RATIO_FOUR_BY_FIVE"|"ASPECT_RATIO_FOUR_BY_ONE"|"ASPECT_RATIO_FOUR_BY_THREE"|"ASPECT_RATIO_NINE_BY_SIXTEEN"|"ASPECT_RATIO_ONE_BY_EIGHT"|"ASPECT_RATIO_ONE_BY_FOUR"|"ASPECT_RATIO_ONE_BY_ONE"|"ASPECT_RATIO_SIXTEEN_BY_NINE"|"ASPECT_RATIO_THREE_BY_FOUR"|"ASPECT_RATIO_THREE_BY_TWO"|"ASPECT_RATIO_TWENTY_ONE_BY_NINE"|"ASPECT_RATIO_TWO_BY_THREE"|"ASPECT_RATIO_UNSPECIFIED" delivery?:"DELIVERY_UNSPECIFIED"|"INLINE"|"URI" imageSize?:"IMAGE_SIZE_FIVE_TWELVE"|"IMAGE_SIZE_FOUR_K"|"IMAGE_SIZE_ONE_K"|"IMAGE_SIZE_TWO_K"|"IMAGE_SIZE_UNSPECIFIED" mimeType?:str',
  TextResponseFormat: 'mimeType?:str schema?:any',
  VideoResponseFormat:
    'aspectRatio?:"ASPECT_RATIO_EIGHT_BY_ONE"|"ASPECT_RATIO_FIVE_BY_FOUR"|"ASPECT_RATIO_FOUR_BY_FIVE"|"ASPECT_RATIO_FOUR_BY_ONE"|"ASPECT_RATIO_FOUR_BY_THREE"|"ASPECT_RATIO_NINE_BY_SIXTEEN"|"ASPECT_RATIO_ONE_BY_EIGHT"|"ASPECT_RATIO_ONE_BY_FOUR"|"ASPECT_RATIO_ONE_BY_ONE"|"ASPECT_RATIO_SIXTEEN_BY_NINE"|"ASPECT_RATIO_THREE_BY_FOUR"|"ASPECT_RATIO_THREE_BY_TWO"|"ASPECT_RATIO_TWENTY_ONE_BY_NINE"|"ASPECT_RATIO_TWO_BY_THREE"|"ASPECT_RATIO_UNSPECIFIED" delivery?:"DELIVERY_UNSPECIFIED"|"INLINE"|"URI" duration?:str gcsUri?:str resolution?:str',
  GenerationConfigRoutingConfig:
    'autoMode?:GenerationConfigRoutingConfigAutoRoutingMode manualMode?:GenerationConfigRoutingConfigManualRoutingMode',
  GenerationConfigRoutingConfigAutoRoutingMode:
    'modelRoutingPreference?:"BALANCED"|"PRIORITIZE_COST"|"PRIORITIZE_QUALITY"|"UNKNOWN"',
  GenerationConfigRoutingConfigManualRoutingMode: 'modelName?:str',
  SpeechConfig:
    'languageCode?:str multiSpeakerVoiceConfig?:MultiSpeakerVoiceConfig voiceConfig?:VoiceConfig',
  VoiceConfig:
    'prebuiltVoiceConfig?:PrebuiltVoiceConfig replicatedVoiceConfig?:ReplicatedVoiceConfig voice?:str',
  ReplicatedVoiceConfig:
    'consentAudio?:str mimeType?:str voiceConsentSignature?:VoiceConsentSignature voiceSampleAudio?:str',
  VoiceConsentSignature: 'signature?:str',
  PrebuiltVoiceConfig: 'voiceName?:str',
  MultiSpeakerVoiceConfig: 'speakerVoiceConfigs?:SpeakerVoiceConfig[]',
  SpeakerVoiceConfig: 'speaker?:str voiceConfig?:VoiceConfig',
  ThinkingConfig:
    'includeThoughts?:bool thinkingBudget?:num thinkingLevel?:"HIGH"|"LOW"|"MEDIUM"|"MINIMAL"|"THINKING_LEVEL_UNSPECIFIED"',
  TranslationConfig: 'echoTargetLanguage?:bool targetLanguageCode?:str',
};
