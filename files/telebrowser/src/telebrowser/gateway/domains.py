"""The domains of a page's session: every method and event that was looked at, by name.

A new Chromium may add a method to any of them, so that a domain is no promise: what is not named here, and has no row
in `methods`, is denied until somebody has looked at it. What needs a check of its own stands in `methods` instead.
"""

from __future__ import annotations

from typing import NamedTuple


class Domain(NamedTuple):
    """``methods`` a page's session may call and ``events`` it is told, by their names without the domain, and why."""

    name: str
    reason: str
    methods: str
    events: str


PAGE_DOMAINS: tuple[Domain, ...] = (
    Domain(
        "Accessibility",
        "reads the page",
        "disable enable getPartialAXTree getFullAXTree getRootAXNode getAXNodeAndAncestors getChildAXNodes queryAXTree",
        "loadComplete nodesUpdated",
    ),
    Domain(
        "Ads",
        "reads the page",
        "getAdMetrics getAdScripts",
        "",
    ),
    Domain(
        "Animation",
        "acts on the page",
        "disable enable getCurrentTime getPlaybackRate releaseAnimations resolveAnimation seekAnimations setPaused setPlaybackRate setTiming",
        "animationCanceled animationCreated animationStarted animationUpdated",
    ),
    Domain(
        "Audits",
        "reads the page",
        "getEncodedResponse disable enable checkFormsIssues",
        "issueAdded",
    ),
    Domain(
        "Autofill",
        "fills the page with what the client sends",
        "trigger setAddresses disable enable",
        "addressFormFilled",
    ),
    Domain(
        "CSS",
        "acts on the page",
        (
            "addRule collectClassNames createStyleSheet disable enable forcePseudoState forceStartingStyle getBackgroundColors getComputedStyleForNode "
            "resolveValues getLonghandProperties getInlineStylesForNode getAnimatedStylesForNode getMatchedStylesForNode getEnvironmentVariables "
            "getMediaQueries getPlatformFontsForNode getStyleSheetText getLayersForNode getLocationForSelector trackComputedStyleUpdatesForNode "
            "trackComputedStyleUpdates takeComputedStyleUpdates setEffectivePropertyValueForNode setPropertyRulePropertyName setKeyframeKey setMediaText "
            "setContainerQueryText setContainerQueryConditionText setSupportsText setNavigationText setScopeText setRuleSelector setStyleSheetText "
            "setStyleTexts startRuleUsageTracking stopRuleUsageTracking takeCoverageDelta setLocalFontsEnabled forcePositionTryOption"
        ),
        "fontsUpdated mediaQueryResultChanged styleSheetAdded styleSheetChanged styleSheetRemoved computedStyleUpdated",
    ),
    Domain(
        "CacheStorage",
        "storage that the page's script can reach too",
        "deleteCache deleteEntry requestCacheNames requestCachedResponse requestEntries",
        "",
    ),
    Domain(
        "Console",
        "reads the page",
        "clearMessages disable enable",
        "messageAdded",
    ),
    Domain(
        "CrashReportContext",
        "reads the page",
        "getEntries",
        "",
    ),
    Domain(
        "DOM",
        "acts on the page",
        (
            "collectClassNamesFromSubtree copyTo describeNode scrollIntoViewIfNeeded disable discardSearchResults enable focus getAttributes getBoxModel "
            "getContentQuads getDocument getFlattenedDocument getNodesForSubtreeByStyle getNodeForLocation getOuterHTML getRelayoutBoundary "
            "getSearchResults hideHighlight highlightNode highlightRect markUndoableState moveTo performSearch pushNodeByPathToFrontend "
            "pushNodesByBackendIdsToFrontend querySelector querySelectorAll getTopLayerElements getElementByRelation redo removeAttribute removeNode "
            "requestChildNodes requestNode resolveNode setAttributeValue setAttributesAsText setNodeStackTracesEnabled getNodeStackTraces getFileInfo "
            "getDetachedDomNodes setInspectedNode setNodeName setNodeValue setOuterHTML undo getFrameOwner getContainerForNode "
            "getQueryingDescendantsForContainer getAnchorElement forceShowPopover getImplicitAnchorCandidates forceShowInterest setTextMarker "
            "clearTextMarkers"
        ),
        (
            "attributeModified adoptedStyleSheetsModified attributeRemoved characterDataModified childNodeCountUpdated childNodeInserted childNodeRemoved "
            "distributedNodesUpdated documentUpdated inlineStyleInvalidated pseudoElementAdded topLayerElementsUpdated scrollableFlagUpdated "
            "adRelatedStateUpdated affectedByStartingStylesFlagUpdated pseudoElementRemoved setChildNodes shadowRootPopped shadowRootPushed"
        ),
    ),
    Domain(
        "DOMDebugger",
        "acts on the page's script",
        (
            "getEventListeners removeDOMBreakpoint removeEventListenerBreakpoint removeInstrumentationBreakpoint removeXHRBreakpoint setBreakOnCSPViolation "
            "setDOMBreakpoint setEventListenerBreakpoint setInstrumentationBreakpoint setXHRBreakpoint"
        ),
        "",
    ),
    Domain(
        "DOMSnapshot",
        "reads the page",
        "disable enable getSnapshot captureSnapshot",
        "",
    ),
    Domain(
        "DOMStorage",
        "storage that the page's script can reach too",
        "clear disable enable getDOMStorageItems removeDOMStorageItem setDOMStorageItem",
        "domStorageItemAdded domStorageItemRemoved domStorageItemUpdated domStorageItemsCleared",
    ),
    Domain(
        "Debugger",
        "acts on the page's script",
        (
            "continueToLocation disable enable evaluateOnCallFrame getPossibleBreakpoints getScriptSource disassembleWasmModule nextWasmDisassemblyChunk "
            "getWasmBytecode getStackTrace pause pauseOnAsyncCall removeBreakpoint restartFrame resume searchInContent setAsyncCallStackDepth "
            "setBlackboxExecutionContexts setBlackboxPatterns setBlackboxedRanges setBreakpoint setInstrumentationBreakpoint setBreakpointByUrl "
            "setBreakpointOnFunctionCall setBreakpointsActive setPauseOnExceptions setReturnValue setScriptSource setSkipAllPauses setVariableValue "
            "stepInto stepOut stepOver"
        ),
        "breakpointResolved paused resumed scriptFailedToParse scriptParsed",
    ),
    Domain(
        "DeviceAccess",
        "answers the page's chooser",
        "enable disable selectPrompt cancelPrompt",
        "deviceRequestPrompted",
    ),
    Domain(
        "DeviceOrientation",
        "acts on the page",
        "clearDeviceOrientationOverride setDeviceOrientationOverride",
        "",
    ),
    Domain(
        "DigitalCredentials",
        "answers the page's dialog",
        "setVirtualWalletBehavior",
        "",
    ),
    Domain(
        "Emulation",
        "acts on the tab and ends with the session",
        (
            "canEmulate clearDeviceMetricsOverride clearGeolocationOverride resetPageScaleFactor setFocusEmulationEnabled setAutoDarkModeOverride "
            "setCPUThrottlingRate setDefaultBackgroundColorOverride setSafeAreaInsetsOverride setVirtualKeyboardGeometryOverride setDeviceMetricsOverride "
            "setDevicePostureOverride clearDevicePostureOverride setDisplayFeaturesOverride clearDisplayFeaturesOverride setScrollbarsHidden "
            "setDocumentCookieDisabled setEmitTouchEventsForMouse setEmulatedMedia setEmulatedVisionDeficiency setEmulatedOSTextScale "
            "setGeolocationOverride getOverriddenSensorInformation setSensorOverrideEnabled setSensorOverrideReadings setPressureSourceOverrideEnabled "
            "setPressureStateOverride setIdleOverride clearIdleOverride setNavigatorOverrides setPageScaleFactor setScriptExecutionDisabled "
            "setTouchEmulationEnabled setVirtualTimePolicy setLocaleOverride setTimezoneOverride setVisibleSize setDisabledImageTypes setDataSaverOverride "
            "setHardwareConcurrencyOverride setCPUPerformanceOverride setUserAgentOverride setAutomationOverride setSmallViewportHeightDifferenceOverride"
        ),
        "virtualTimeBudgetExpired screenOrientationLockChanged",
    ),
    Domain(
        "EventBreakpoints",
        "acts on the page's script",
        "setInstrumentationBreakpoint removeInstrumentationBreakpoint disable",
        "",
    ),
    Domain(
        "FedCm",
        "answers the page's dialog",
        "enable disable selectAccount clickDialogButton dismissDialog resetCooldown",
        "dialogShown dialogClosed",
    ),
    Domain(
        "Fetch",
        "requests of this tab",
        "disable enable failRequest fulfillRequest continueWithAuth continueResponse getResponseBody takeResponseBodyAsStream",
        "requestPaused authRequired",
    ),
    Domain(
        "HeapProfiler",
        "reads the page's script",
        (
            "addInspectedHeapObject collectGarbage disable enable getHeapObjectId getObjectByHeapObjectId getSamplingProfile startSampling "
            "startTrackingHeapObjects stopSampling stopTrackingHeapObjects takeHeapSnapshot"
        ),
        "addHeapSnapshotChunk heapStatsUpdate lastSeenObjectId reportHeapSnapshotProgress resetProfiles",
    ),
    Domain(
        "IO",
        "streams of this tab",
        "resolveBlob",
        "",
    ),
    Domain(
        "IndexedDB",
        "storage that the page's script can reach too",
        "clearObjectStore deleteDatabase deleteObjectStoreEntries disable enable requestData getMetadata requestDatabase requestDatabaseNames",
        "",
    ),
    Domain(
        "Input",
        "input into this tab",
        (
            "dispatchKeyEvent insertText imeSetComposition dispatchMouseEvent dispatchTouchEvent cancelDragging emulateTouchFromMouseEvent "
            "setIgnoreInputEvents setInterceptDrags synthesizePinchGesture synthesizeScrollGesture synthesizeTapGesture"
        ),
        "dragIntercepted",
    ),
    Domain(
        "Inspector",
        "life of this session",
        "disable enable",
        "detached targetCrashed targetReloadedAfterCrash workerScriptLoaded",
    ),
    Domain(
        "LayerTree",
        "reads the page",
        "compositingReasons disable enable loadSnapshot makeSnapshot profileSnapshot releaseSnapshot replaySnapshot snapshotCommandLog",
        "layerPainted layerTreeDidChange",
    ),
    Domain(
        "Log",
        "reads the page",
        "clear disable enable startViolationsReport stopViolationsReport",
        "entryAdded",
    ),
    Domain(
        "Media",
        "reads the page",
        "enable disable",
        "playerPropertiesChanged playerEventsAdded playerMessagesLogged playerErrorsRaised playerCreated",
    ),
    Domain(
        "Network",
        "requests of this tab",
        (
            "canClearBrowserCache canClearBrowserCookies canEmulateNetworkConditions disable emulateNetworkConditions emulateNetworkConditionsByRule "
            "overrideNetworkState enable configureDurableMessages getCertificate getResponseBody getRequestPostData replayXHR searchInResponseBody "
            "setBlockedURLs setBypassServiceWorker setCacheDisabled setExtraHTTPHeaders setAttachDebugStack setUserAgentOverride streamResourceContent "
            "getSecurityIsolationStatus enableReportingApi enableDeviceBoundSessions fetchSchemefulSite"
        ),
        (
            "dataReceived eventSourceMessageReceived loadingFailed loadingFinished requestServedFromCache requestWillBeSent resourceChangedPriority "
            "signedExchangeReceived responseReceived webSocketClosed webSocketCreated webSocketFrameError webSocketFrameReceived webSocketFrameSent "
            "webSocketHandshakeResponseReceived webSocketWillSendHandshakeRequest webTransportCreated webTransportConnectionEstablished webTransportClosed "
            "directTCPSocketCreated directTCPSocketOpened directTCPSocketAborted directTCPSocketClosed directTCPSocketChunkSent "
            "directTCPSocketChunkReceived directUDPSocketJoinedMulticastGroup directUDPSocketLeftMulticastGroup directUDPSocketCreated "
            "directUDPSocketOpened directUDPSocketAborted directUDPSocketClosed directUDPSocketChunkSent directUDPSocketChunkReceived "
            "requestWillBeSentExtraInfo responseReceivedExtraInfo responseReceivedEarlyHints trustTokenOperationDone policyUpdated reportingApiReportAdded "
            "reportingApiReportUpdated reportingApiEndpointsChangedForOrigin deviceBoundSessionsAdded deviceBoundSessionEventOccurred"
        ),
    ),
    Domain(
        "Overlay",
        "paints over this tab",
        (
            "disable enable getHighlightObjectForTest getGridHighlightObjectsForTest getSourceOrderHighlightObjectForTest hideHighlight highlightFrame "
            "highlightNode highlightQuad highlightRect highlightSourceOrder setInspectMode setShowAdHighlights setPausedInDebuggerMessage "
            "setShowDebugBorders setShowFPSCounter setShowGridOverlays setShowFlexOverlays setShowScrollSnapOverlays setShowContainerQueryOverlays "
            "setShowInspectedElementAnchor setShowPaintRects setShowLayoutShiftRegions setShowScrollBottleneckRects setShowHitTestBorders setShowWebVitals "
            "setShowViewportSizeOnResize setShowHinge setShowDisplayCutout setShowIsolatedElements setShowWindowControlsOverlay"
        ),
        "inspectNodeRequested nodeHighlightRequested screenshotRequested inspectPanelShowRequested inspectedElementWindowRestored inspectModeCanceled",
    ),
    Domain(
        "Page",
        "acts on the tab",
        (
            "addScriptToEvaluateOnLoad addScriptToEvaluateOnNewDocument captureSnapshot clearDeviceMetricsOverride clearDeviceOrientationOverride "
            "clearGeolocationOverride createIsolatedWorld deleteCookie disable enable getAppManifest getInstallabilityErrors getManifestIcons getAppId "
            "getSubApps getSiblingSubApps getAdScriptAncestry getFrameTree getLayoutMetrics getNavigationHistory resetNavigationHistory getResourceContent "
            "getResourceTree handleJavaScriptDialog printToPDF reload removeScriptToEvaluateOnLoad removeScriptToEvaluateOnNewDocument screencastFrameAck "
            "searchInResource setAdBlockingEnabled setBypassCSP getPermissionsPolicyState getOriginTrials setDeviceMetricsOverride "
            "setDeviceOrientationOverride setFontFamilies setFontSizes setDocumentContent setGeolocationOverride setLifecycleEventsEnabled "
            "setTouchEmulationEnabled startScreencast stopScreenRecording stopLoading setWebLifecycleState stopScreencast produceCompilationCache "
            "addCompilationCache clearCompilationCache generateTestReport setInterceptFileChooserDialog setPrerenderingAllowed getAnnotatedPageContent "
            "getSpellCheckCustomDictionary setInputVisualization"
        ),
        (
            "domContentEventFired fileChooserOpened frameAttached frameClearedScheduledNavigation frameDetached frameSubtreeWillBeDetached frameNavigated "
            "documentOpened frameResized frameStartedNavigating frameRequestedNavigation frameScheduledNavigation frameStartedLoading frameStoppedLoading "
            "downloadWillBegin downloadProgress interstitialHidden interstitialShown javascriptDialogClosed javascriptDialogOpening lifecycleEvent "
            "backForwardCacheNotUsed loadEventFired navigatedWithinDocument screencastFrame screencastVisibilityChanged windowOpen compilationCacheProduced"
        ),
    ),
    Domain(
        "Performance",
        "reads the page",
        "disable enable setTimeDomain getMetrics",
        "metrics",
    ),
    Domain(
        "PerformanceTimeline",
        "reads the page",
        "enable",
        "timelineEventAdded",
    ),
    Domain(
        "Preload",
        "reads the page",
        "enable disable",
        "ruleSetUpdated ruleSetRemoved preloadEnabledStateUpdated prefetchStatusUpdated prerenderStatusUpdated preloadingAttemptSourcesUpdated",
    ),
    Domain(
        "Profiler",
        "reads the page's script",
        "disable enable getBestEffortCoverage setSamplingInterval start startPreciseCoverage stop stopPreciseCoverage takePreciseCoverage",
        "consoleProfileFinished consoleProfileStarted preciseCoverageDeltaUpdate",
    ),
    Domain(
        "Runtime",
        "acts on the page's script",
        (
            "awaitPromise callFunctionOn compileScript disable discardConsoleEntries enable evaluate getIsolateId getHeapUsage getProperties "
            "globalLexicalScopeNames queryObjects releaseObject releaseObjectGroup runScript setAsyncCallStackDepth "
            "setCustomObjectFormatterEnabled setMaxCallStackSizeToCapture terminateExecution addBinding removeBinding getExceptionDetails"
        ),
        (
            "bindingCalled consoleAPICalled exceptionRevoked exceptionThrown executionContextCreated executionContextDestroyed executionContextsCleared "
            "inspectRequested"
        ),
    ),
    Domain(
        "Schema",
        "names the domains",
        "getDomains",
        "",
    ),
    Domain(
        "Security",
        "state of this tab",
        "disable enable setIgnoreCertificateErrors handleCertificateError setOverrideCertificateErrors",
        "certificateError visibleSecurityStateChanged securityStateChanged",
    ),
    Domain(
        "WebAudio",
        "reads the page",
        "enable disable getRealtimeData",
        (
            "contextCreated contextWillBeDestroyed contextChanged audioListenerCreated audioListenerWillBeDestroyed audioNodeCreated "
            "audioNodeWillBeDestroyed audioParamCreated audioParamWillBeDestroyed nodesConnected nodesDisconnected nodeParamConnected nodeParamDisconnected"
        ),
    ),
    Domain(
        "WebAuthn",
        "a virtual authenticator of this tab",
        (
            "enable disable addVirtualAuthenticator setResponseOverrideBits removeVirtualAuthenticator addCredential getCredential getCredentials "
            "removeCredential clearCredentials setUserVerified setAutomaticPresenceSimulation setCredentialProperties"
        ),
        "credentialAdded credentialDeleted credentialUpdated credentialAsserted",
    ),
    Domain(
        "WebMCP",
        "tools that the page offers",
        "enable disable invokeTool cancelInvocation",
        "toolsAdded toolsRemoved toolInvoked toolResponded",
    ),
    Domain(
        "Storage",
        "storage of one origin, which the project shares",
        "getStorageKeyForFrame getStorageKey getUsageAndQuota setStorageBucketTracking "
        "trackCacheStorageForOrigin trackCacheStorageForStorageKey trackIndexedDBForOrigin trackIndexedDBForStorageKey "
        "untrackCacheStorageForOrigin untrackCacheStorageForStorageKey untrackIndexedDBForOrigin untrackIndexedDBForStorageKey",
        "cacheStorageContentUpdated cacheStorageListUpdated indexedDBContentUpdated indexedDBListUpdated storageBucketCreatedOrUpdated storageBucketDeleted",
    ),
    Domain(
        "Tracing",
        "the trace that this client has begun",
        "getCategories recordClockSyncMarker",
        "bufferUsage",
    ),
)

DENIED_DOMAINS: dict[str, str] = {
    "BackgroundService": "it records what the workers of every tab do",
    "BluetoothEmulation": "it acts on the adapter that all tabs share",
    "Cast": "it shows the desktop or a tab on other machines",
    "Extensions": "it loads any folder of the machine into everybody's browser",
    "FileSystem": "it lists folders by the machine's paths",
    "FindInPage": "nobody has looked at it closely yet",
    "HeadlessExperimental": "it stops the drawing of the browser",
    "Memory": "it acts on processes that tabs share, and some of it ends them",
    "PWA": "it installs programs and opens windows in front of the person",
    "ServiceWorker": "it names the pages of others that a worker serves, and stops workers that they use",
    "SmartCardEmulation": "it acts on the readers that all tabs share",
    "Tethering": "it opens ports on the machine",
}
"""Domains of which nothing may be called on any session, whatever they come to hold."""
