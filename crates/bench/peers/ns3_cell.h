// An 802.11a cell at 54 Mb/s, for the peers beside it. SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

static NetDeviceContainer radios(NodeContainer ap, NodeContainer stations) {
  YansWifiPhyHelper phy;
  phy.SetChannel(YansWifiChannelHelper::Default().Create());
  WifiHelper wifi;
  wifi.SetStandard(WIFI_STANDARD_80211a);
  wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("OfdmRate54Mbps"),
                               "ControlMode", StringValue("OfdmRate24Mbps"));
  WifiMacHelper mac;
  mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(Ssid("cell")), "QosSupported", BooleanValue(false));
  NetDeviceContainer devices = wifi.Install(phy, mac, ap);
  mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(Ssid("cell")), "QosSupported", BooleanValue(false));
  devices.Add(wifi.Install(phy, mac, stations));
  return devices;
}
